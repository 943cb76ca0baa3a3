internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// The keys of a provider, each with the kinds that have it.
extension ProviderDraft {
    static let settings = ofOpenID + ofNumbers.map { $0.of(.camara) }

    private static let ofOpenID: [Setting<ProviderDraft>] = [
        Setting(
            "kind", .choice(of: [.oidc, .oauth2, .camara]), \.provider.kind,
            "oidc: an OpenID provider, found by its issuer; oauth2: a provider without ID tokens; camara: mobile "
                + "operators that tell the verified phone number of a device."
        ).withoutDefault(),
        Setting("name", .shownName, \.provider.name, "The name that users see; by default the name in paths."),
        Setting(
            "issuer", .issuer, \.provider.issuer,
            "The issuer, spelled exactly as in the provider's metadata and ID tokens. For oauth2 it is the issuer of "
                + "the users' identities and must never change."
        ).required("give the provider's issuer, an https URL").of(.oidc, .oauth2),
        Setting(
            "authorization_endpoint", .carrierURL, \.endpoints.authorization,
            "The authorization endpoint; for oauth2 only."
        ).required().of(.oauth2),
        Setting("token_endpoint", .carrierURL, \.endpoints.token, "The token endpoint; for oauth2 only.").required().of(
            .oauth2),
        Setting(
            "user_endpoint", .carrierURL, \.endpoints.user.url,
            "The URL that returns the user as JSON for an access token; for oauth2 only."
        ).required().of(.oauth2),
        Setting(
            "subject", .member, \.endpoints.user.subject,
            "The member of the user's JSON that identifies the user and is never reassigned, such as id; for oauth2 "
                + "only."
        ).required().of(.oauth2),
        Setting(
            "attributes", .attributes, \.endpoints.user.attributes,
            "The members of the user's JSON for name, given_name, family_name, email, phone_number and postal_code, if "
                + "they have other names; data.email is the member email of the object data. For oauth2 only."
        ).of(.oidc, .oauth2),
        Setting(
            "profile", .optional(.choice), \.provider.profile,
            "A security profile. fapi2: FAPI 2.0 Security Profile; fapi2-message-signing: also with signed "
                + "authorization requests and responses. It sets par, dpop, require_iss and more; a setting that "
                + "contradicts it is refused. For oidc only."
        ).of(.oidc),
        Setting(
            "response_mode", .choice, \.provider.rules.responseMode,
            "form_post: the provider sends the browser back with a form; query: with a redirect; jwt, query.jwt or "
                + "form_post.jwt: with a signed response (JARM), and no other is accepted; for oidc only. The default "
                + "is query."
        ).withoutDefault().of(.oidc, .oauth2),
        Setting(
            "require_iss", .optional(.flag()), \.provider.rules.requiresIssuer,
            "Whether every authorization response must name its issuer (RFC 9207). By default it must if the "
                + "provider's metadata says that it does. With false it need not even then: for metadata that is "
                + "wrong. An issuer that is named must be right."),
        Setting(
            "initiate_login_client", .optional(.clientID), \.provider.rules.loginInitiationClient,
            "The client whose sign-ins the provider or another site may initiate (OpenID Connect Core section 4). By "
                + "default nobody may. For oidc only."
        ).of(.oidc),
        Setting(
            "par", .choice, \.provider.relyingParty.pushedAuthorizationRequests,
            "Pushed authorization requests (RFC 9126). auto: if the provider's metadata requires them; always: also if "
                + "it does not; never: not even then. The default is auto. For oidc only."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "dpop", .choice, \.provider.relyingParty.dpop,
            "Access tokens that are bound to a key of this server (DPoP, RFC 9449). auto: if the provider's metadata "
                + "demands them, or supports them and store_tokens is set or the kind is camara; always: a token that "
                + "is not bound is refused; never: not even then. The default is auto. For oidc and camara."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "mtls", .choice, \.provider.relyingParty.mutualTLS,
            "Mutual TLS (RFC 8705) with the certificate_file of the client. auto: where the client authenticates with "
                + "it, or the provider's metadata says that tokens can be bound to it; always: a provider whose "
                + "metadata does not say so is refused; never: not even then. The default is auto. For oidc only."
        ).withoutDefault().of(.oidc),
        Setting(
            "request_object", .choice, \.provider.relyingParty.signedRequestObjects,
            "Signed authorization requests (RFC 9101), with the private_key of the client. auto: if the provider's "
                + "metadata requires them; always: also if it does not; never: not even then. The default is auto. For "
                + "oidc only."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "backchannel_token_delivery_mode", .choice, \.provider.rules.backchannelTokenDelivery,
            "Backchannel authentication (CIBA), and how the provider delivers its tokens, as registered for the "
                + "clients. poll: the provider is asked; ping: it is also asked once it has notified this server; off: "
                + "there is none. The default is off. For oidc only."
        ).withoutDefault().of(.oidc),
        Setting(
            "store_tokens", .flag(), \.provider.rules.storesTokens,
            "Stores the access and refresh tokens of its sign-ins for its resources, encrypted with "
                + "encryption_keys."
        ).of(.oidc, .oauth2),
        Setting(
            "resources", .resources, \.provider.rules.resources,
            "The resources that signed-in users can fetch with their tokens, by name, each with the url that returns "
                + "it as JSON to a GET request."
        ).of(.oidc, .oauth2),
        Setting(
            "backchannel_logout", .flag("on", "off"), \.provider.rules.endsSessions,
            "Whether the provider may end the sessions that it signed in; for oidc only."),
        Setting(
            "id_token_hint", .flag("on", "off"), \.provider.rules.keepsIDTokens,
            "Whether logout at the provider sends the ID token of the sign-in, which is stored with the session, "
                + "encrypted; for oidc only."),
        Setting(
            "id_token_types", .list(of: .choice, "a list of types"), \.provider.relyingParty.idTokenRules.types,
            "The values of typ that the provider's ID tokens may have; absent is an ID token without typ. The default "
                + "is JWT and absent. For oidc only."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "clients", "a list of clients, or id:secret,id2:secret2", schema: .list(of: .definition("client")),
            isSecret: true,
            "The apps registered with the provider, with the keys of zenkey.clients.",
            set: { node, draft, context in
                draft.clients = ClientDraft.read(node, of: draft.provider.kind, &context) ?? draft.clients
            },
            show: { $0.clients.map { "\($0.client.id.text):‹redacted›" }.joined(separator: ",") }
        ).required("give the app's client id and secret").of(.oidc, .oauth2),
    ]

    private static let ofNumbers: [Setting<ProviderDraft>] = [
        Setting(
            "purpose", .purpose, \.mobileOperator.purpose,
            "Why phone numbers are verified: a purpose of the W3C Data Privacy Vocabulary, such as "
                + "dpv:FraudPreventionAndDetection, which operators check against the registration. For camara only."
        ).required("give the purpose that the operators have registered, dpv: and its name"),
        Setting(
            "sim_swap.max_age_hours", .integer(1...2400), \.mobileOperator.simSwap.maximumAge,
            "How long a change of the SIM counts, in hours. The default is 240. For camara only."
        ).withoutDefault(),
        Setting(
            "sim_swap.if_swapped", .choice, \.mobileOperator.simSwap.ifSwapped,
            "What a change of the SIM within that time leads to. refuse: the number is not believed; report: it is in "
                + "the log; off: the operator is not asked. The default is refuse if another key of sim_swap is given, "
                + "and off otherwise. For camara only."
        ).withoutDefault(),
        Setting(
            "sim_swap.if_unknown", .choice, \.mobileOperator.simSwap.ifUnknown,
            "What happens if the operator does not tell whether the SIM was changed. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse. For camara only."
        ).withoutDefault(),
        Setting(
            "telco_finder.issuer", .issuer, \.telcoFinder.issuer,
            "The issuer of GSMA's Telco Finder, which finds the operator of a phone number, spelled exactly as in its "
                + "metadata. For camara only."
        ).required(),
        Setting(
            "telco_finder.api_root", .issuer, \.telcoFinder.finder.apis.root,
            "The URL that the path of Telco Finder's API follows. For camara only."
        ).required(),
        Setting(
            "telco_finder.client_id", .clientID, \.finderClient.client.id,
            "The client_id of this server at Telco Finder. For camara only."
        ).required(),
        Setting(
            "telco_finder.private_key", .optional(.clientKey), \.finderClient.privateKey.key, isSecret: true,
            "The private key for private_key_jwt, in PEM or as a JSON Web Key, as that of a client. For camara only."
        ).required("give it or private_key_file"),
        Setting(
            "telco_finder.private_key_id", .optional(.keyID), \.finderClient.privateKey.id,
            "The kid of the private key at Telco Finder, as that of a client. For camara only."),
        Setting(
            "telco_finder.private_key_alg", .optional(.choice(of: ClientKey.algorithms)),
            \.finderClient.privateKey.algorithm,
            "What the private key signs with, as that of a client. For camara only."),
        Setting(
            "telco_finder.assertion_audience", .optional(.choice), \.finderClient.assertionAudience,
            "The audience of a private_key_jwt for Telco Finder, as that of an operator. The default is endpoint. For "
                + "camara only."),
        Setting(
            "telco_finder.scopes", .list(of: .scope, "a list of scopes"), \.telcoFinder.finder.scopes,
            "The scopes of access tokens for Telco Finder. The default is telcofinder. For camara only."
        ).withoutDefault(),
        Setting(
            "telco_finder.portability_search", .choice, \.telcoFinder.finder.portabilitySearch,
            "How far Telco Finder searches where numbers move between operators. shallow: in its own records, which "
                + "may be old, at less cost; deep: in all systems of the country. The default is deep. For camara only."
        ).withoutDefault(),
        Setting(
            "telco_finder.if_other_operator", .choice, \.telcoFinder.ifOtherOperator,
            "What happens if the number that an operator reports is another operator's by Telco Finder. refuse: the "
                + "number is not believed; report: it is in the log; off: Telco Finder is not asked about reported "
                + "numbers. The default is refuse. For camara only."
        ).withoutDefault(),
        Setting(
            "telco_finder.if_unknown", .choice, \.telcoFinder.ifUnknown,
            "What happens if Telco Finder does not tell the operator of a reported number. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse. For camara only."
        ).withoutDefault(),
        Setting(
            "redirect_uris", .list(of: .redirectURI, "a list of redirect URIs"), \.client.client.redirectURIs,
            "The redirect URIs of the apps that verify numbers, as those of a client. For camara only."),
        Setting(
            "client_types", .clientTypes, \.client.client.clientTypes,
            "The kinds of frontend that a redirect URI is for, as those of a client. For camara only."),
        Setting(
            "require_code_challenge", .flag(), \.client.client.requiresCodeChallenge,
            "Whether a sign-in needs a code_challenge, as that of a client. The default is false. For camara only."
        ).withoutDefault(),
        Setting(
            "allowed_origins", .list(of: .origin, "a list of origins"), \.client.client.allowedOrigins,
            "The origins of the apps' web frontends, as those of a client. For camara only."),
        Setting(
            "operators", "a list of operators", schema: .list(of: .definition("operator")), isSecret: false,
            "The mobile operators, each an OpenID provider with CAMARA APIs. For camara only.",
            set: { node, draft, context in draft.readOperators(node, &context) },
            show: { $0.operators.map(\.mobileOperator.name).joined(separator: ",") }
        ).required("list at least one"),
    ]

    /// The keys of a mobile operator of a provider of verified phone numbers (`kind: camara`).
    static let operatorSettings: [Setting<ProviderDraft>] = [
        Setting(
            "name", .operatorName, \.mobileOperator.name,
            "The operator's name in requests: 1 to 32 lower-case letters, digits and hyphens. It must never change."
        ).required(),
        Setting(
            "operator_id", .keyID, \.mobileOperator.finderID,
            "The id by which Telco Finder knows the operator (operatorId). The default is its name."),
        Setting(
            "mccmnc", .networks, \.mobileOperator.networks, "The networks that the operator serves."),
        Setting(
            "issuer", .issuer, \.provider.issuer,
            "The operator's issuer, spelled exactly as in its metadata and ID tokens."
        ).required(),
        Setting(
            "api_root", .issuer, \.mobileOperator.apis.root,
            "The URL that the paths of the operator's CAMARA APIs follow, such as https://api.northwind.example."
        ).required(),
        Setting("client_id", .clientID, \.client.client.id, "The client_id of this server at the operator.").required(),
        Setting(
            "private_key", .optional(.clientKey), \.client.privateKey.key, isSecret: true,
            "The private key for private_key_jwt, in PEM or as a JSON Web Key, as that of a client."
        ).required("give it or private_key_file"),
        Setting(
            "private_key_id", .optional(.keyID), \.client.privateKey.id,
            "The kid of the private key at the operator, as that of a client."),
        Setting(
            "private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.client.privateKey.algorithm,
            "What the private key signs with, as that of a client."),
        Setting(
            "other_private_key", .optional(.clientKey), \.client.otherPrivateKey.key, isSecret: true,
            "A second private key, as that of a client."),
        Setting(
            "other_private_key_id", .optional(.keyID), \.client.otherPrivateKey.id,
            "The kid of other_private_key, as that of a client."),
        Setting(
            "other_private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.client.otherPrivateKey.algorithm,
            "What other_private_key signs with, as that of a client."),
        Setting(
            "assertion_audience", .optional(.choice), \.client.assertionAudience,
            "The audience of a private_key_jwt for the operator. endpoint: the endpoint that the request goes to, the "
                + "default for operators; issuer: the operator's issuer; token_endpoint: its token endpoint."),
        Setting(
            "hashed_phone_number", .flag(), \.mobileOperator.takesHashes,
            "Whether a number to verify is sent as its SHA-256, for an operator that takes it."),
        Setting(
            "id_token_signed_response_alg", .optional(.choice), \.client.client.idTokenSigningAlgorithm,
            "The only algorithm that the operator's ID tokens may be signed with, as that of a client."),
    ]
}
