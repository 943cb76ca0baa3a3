internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// The keys of a provider, each with the kinds that have it.
extension ProviderDraft {
    static let settings =
        ofOpenID + ofClients + [clientList]
        + (ofNumbers + ofDeployments + [operatorList] + ofServer(ownKeys, \.telcoFinder.client, in: "telco_finder."))
        .map { ofAggregatorsToo.contains($0.name) ? $0.of(.camara, .aggregator) : $0.of(.camara) }
        + ofFirebase.map { $0.of(.firebasePNV) } + ofNumberSignIns.map { $0.of(.firebasePNV, .aggregator) }
        + ofAggregators.map { $0.of(.aggregator) }

    private static let ofAggregatorsToo: Set = ["headers", "sim_swap.if_swapped", "sim_swap.if_unknown"]

    private static let ofOpenID: [Setting<ProviderDraft>] = [
        Setting(
            "kind", .choice(of: [.oidc, .oauth2, .camara, .firebasePNV, .aggregator]), \.kind,
            "oidc: an OpenID provider, found by its issuer; oauth2: a provider without ID tokens; camara: mobile "
                + "operators that tell the verified phone number of a device; firebase_pnv: Firebase Phone Number "
                + "Verification, whose tokens apps bring; aggregator: an aggregator of mobile networks, to which apps "
                + "bring digital credentials of phone numbers."
        ).withoutDefault(),
        Setting(
            "preset", .optional(.keyID), \.preset,
            "The provider that the section is for, by its name in `latchkey providers`, whose settings the section "
                + "begins with. By default it is the name in paths, unless a kind is given."),
        Setting("name", .shownName, \.name, "The name that users see; by default the name in paths."),
        Setting(
            "color", .optional(.color), \.color, "The color of the button that leads to the provider, for frontends."),
        Setting(
            "issuer", .optional(.templatedIssuer), \.templatedIssuer,
            "The issuer, spelled exactly as in the provider's metadata and ID tokens. For oauth2 and aggregator it is "
                + "the issuer of the users' identities and must never change. For oidc it may have {tenantid} in the "
                + "place of the tenant, with tenants."
        ).required("give the provider's issuer, an https URL").of(.oidc, .oauth2, .aggregator),
        Setting(
            "tenants", .list(of: .tenant, "any, or a list of tenants"), \.tenants,
            "The tenants whose users may sign in where issuer has {tenantid}: their ids, which ID tokens have as tid; "
                + "or any. A user's identity has the issuer of the tenant."
        ).of(.oidc),
        Setting(
            "metadata_url", .optional(.carrierURL), \.rules.metadataURL,
            "Where the provider's metadata is, if it is not at {issuer}/.well-known/openid-configuration. The issuer "
                + "in it must still be issuer."
        ).of(.oidc),
        Setting(
            "authorization_endpoint", .optional(.carrierURL), \.rules.endpoints["authorization_endpoint"],
            "The authorization endpoint. Of oidc it wins over the metadata's, as the other endpoints do."
        ).required(of: .oauth2).of(.oidc, .oauth2),
        Setting(
            "token_endpoint", .optional(.carrierURL), \.rules.endpoints["token_endpoint"], "The token endpoint."
        ).required(of: .oauth2).of(.oidc, .oauth2, .aggregator),
        Setting(
            "userinfo_endpoint", .optional(.carrierURL), \.rules.endpoints["userinfo_endpoint"],
            "The userinfo endpoint, which wins over the metadata's."
        ).of(.oidc),
        Setting(
            "jwks_uri", .optional(.carrierURL), \.rules.endpoints["jwks_uri"],
            "The URL of the signing keys, which wins over the metadata's and over that of Firebase. Of oauth2, that of "
                + "the keys of native ID tokens."
        ).of(.oidc, .oauth2, .firebasePNV),
        Setting(
            "end_session_endpoint", .optional(.carrierURL), \.rules.endpoints["end_session_endpoint"],
            "The URL that ends the user's session at the provider, which wins over the metadata's."
        ).of(.oidc),
        Setting(
            "user_endpoint", .optional(.carrierURL), \.userEndpoint,
            "The URL that returns the user as JSON for an access token."
        ).required().of(.oauth2),
        Setting(
            "subject", .optional(.member), \.subject,
            "The member of the user's JSON that identifies the user and is never reassigned, such as id."
        ).required().of(.oauth2),
        Setting(
            "attributes", .attributes(UserAttribute.claims), \.rules.userMembers.attributes,
            "The members of the user's JSON, or the claims, for name, given_name, family_name, email, phone_number and "
                + "postal_code, if they have other names; data.email is the member email of the object data, and "
                + "data.0.email that of the first element of the array data."
        ).of(.oidc, .oauth2),
        Setting(
            "verified", .attributes(UserAttribute.verifiable), \.rules.userMembers.verified,
            "The members of the user's JSON, or the claims, that say whether email and phone_number are verified, if "
                + "they are not email_verified and phone_number_verified, such as {email: verified}."
        ).of(.oidc, .oauth2),
        Setting(
            "emails_endpoint", .optional(.carrierURL), \.emailsEndpoint,
            "The URL that returns the user's e-mail addresses as a JSON array, each with email, primary and verified. "
                + "The primary one is the user's email. If it fails, users sign in all the same, and the log says so."
        ).of(.oauth2),
        Setting(
            "dialect", .choice, \.rules.dialect,
            "An OAuth 2.0 of the provider's own. tiktok: client_key is the client id, and commas are between scopes; "
                + "wechat: also appid and secret are the client, token requests are GET, access tokens are in the "
                + "query, the request for the user has the openid of the token response, and refresh tokens go to the "
                + "endpoint refresh_token beside access_token; standard: RFC 6749, the default."
        ).withoutDefault().of(.oauth2),
        Setting(
            "profile", .optional(.choice), \.profile,
            "A security profile. fapi2: FAPI 2.0 Security Profile; fapi2-message-signing: also with signed "
                + "authorization requests and responses. It sets par, dpop, require_iss and more; a setting that "
                + "contradicts it is refused."
        ).of(.oidc),
        Setting(
            "response_mode", .choice, \.rules.responseMode,
            "form_post: the provider sends the browser back with a form; query: with a redirect; jwt, query.jwt or "
                + "form_post.jwt: with a signed response (JARM), and no other is accepted; for oidc only. The default "
                + "is query."
        ).withoutDefault().of(.oidc, .oauth2),
        Setting(
            "require_iss", .optional(.flag()), \.rules.requiresIssuer,
            "Whether every authorization response must name its issuer (RFC 9207). By default it must if the "
                + "provider's metadata says that it does. With false it need not even then: for metadata that is "
                + "wrong. An issuer that is named must be right."
        ).of(.oidc, .oauth2, .camara),
        Setting(
            "initiate_login_client", .optional(.clientID), \.rules.loginInitiationClient,
            "The client whose sign-ins the provider or another site may initiate (OpenID Connect Core section 4). "
                + "Without it, sign-ins begin at this server only."
        ).of(.oidc),
        Setting(
            "par", .choice, \.rules.extensions.pushedAuthorizationRequests,
            "Pushed authorization requests (RFC 9126). auto: if the provider's metadata requires them; always: also "
                + "if it does not; never: not even then. The default is auto."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "dpop", .choice, \.rules.extensions.dpop,
            "Access tokens that are bound to a key of this server (DPoP, RFC 9449). auto: if the provider's metadata "
                + "demands them, or supports them and store_tokens is set or the kind is camara; always: a token that "
                + "is not bound is refused; never: not even then. The default is auto."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "mtls", .choice, \.rules.extensions.mutualTLS,
            "Mutual TLS (RFC 8705) with the certificate_file of the client. auto: where the client authenticates with "
                + "it, or the provider's metadata says that tokens can be bound to it; always: a provider whose "
                + "metadata does not say so is refused; never: not even then. The default is auto."
        ).withoutDefault().of(.oidc),
        Setting(
            "request_object", .choice, \.rules.extensions.signedRequestObjects,
            "Signed authorization requests (RFC 9101), with the private_key of the client. auto: if the provider's "
                + "metadata requires them; always: also if it does not; never: not even then. The default is auto."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "backchannel_token_delivery_mode", .choice, \.rules.backchannelTokenDelivery,
            "Backchannel authentication (CIBA), and how the provider delivers its tokens, as registered for the "
                + "clients. poll: the provider is asked; ping: it is also asked once it has notified this server; "
                + "off: there is none. The default is off."
        ).withoutDefault().of(.oidc),
        Setting(
            "store_tokens", .flag(), \.rules.storesTokens,
            "Stores the access and refresh tokens of its sign-ins for its resources, encrypted with "
                + "encryption_keys."
        ).of(.oidc, .oauth2),
        Setting(
            "resources", .resources, \.rules.resources,
            "The resources that signed-in users can fetch with their tokens, by name, each with the url that returns "
                + "it as JSON to a GET request."
        ).of(.oidc, .oauth2),
        Setting(
            "backchannel_logout", .flag("on", "off"), \.rules.endsSessions,
            "Whether the provider may end the sessions that it signed in."
        ).of(.oidc),
        Setting(
            "id_token_hint", .flag("on", "off"), \.rules.keepsIDTokens,
            "Whether logout at the provider sends the ID token of the sign-in, which is stored with the session, "
                + "encrypted."
        ).of(.oidc),
        Setting(
            "id_token_types", .list(of: .choice, "a list of types"), \.rules.idTokenTypes,
            "The values of typ that the provider's ID tokens may have; absent is an ID token without typ. The default "
                + "is JWT and absent."
        ).withoutDefault().of(.oidc, .camara),
        Setting(
            "trusted_audiences", .list(of: .clientID, "a list of audiences"), \.rules.trustedAudiences,
            "The audiences that ID tokens may have beside the client (OpenID Connect Core section 3.1.3.7). Such a "
                + "token must have the client as azp. A client may have more."
        ).of(.oidc),
        Setting(
            "authorization_parameters", .authorizationParameters, \.rules.parameters.fixed,
            "Parameters of authorization requests, by name, such as access_type: offline. An app that starts "
                + "a sign-in may only select some of acr_values, and shorten max_age."
        ).of(.oidc, .oauth2),
        Setting(
            "request_parameters", .list(of: .requestParameter, "a list of parameters"), \.rules.parameters.fromApps,
            "The parameters of authorization requests that an app may send with the start of a sign-in, such as "
                + "organization or ui_locales."
        ).of(.oidc, .oauth2),
        Setting(
            "logout_parameters", .logoutParameters, \.rules.logoutParameters,
            "The parameters of logout requests in place of the usual ones, by name. The values {client_id}, "
                + "{post_logout_redirect_uri}, {state} and {id_token_hint} stand for the usual ones."
        ).of(.oidc),
        Setting(
            "pkce", .choice, \.rules.pkce,
            "required: requests have a code challenge (RFC 7636); optional: those that an app makes itself need none; "
                + "off: none has one, for a provider that refuses it. The default is required."
        ).withoutDefault().of(.oidc, .oauth2),
        Setting(
            "nonce", .choice, \.nonce,
            "required: requests have a nonce, which ID tokens repeat; issued: as required, and it is the default of "
                + "the clients' nonce; off: none has one, for a provider that does not repeat it. The default is "
                + "required."
        ).withoutDefault().of(.oidc),
        Setting(
            "accept_state_alone", .flag(), \.rules.acceptsStateAlone,
            "Whether pkce and nonce may both be off. Then state alone ties a sign-in to the browser that began it."
        ).of(.oidc),
    ]

    /// The keys of a client: for the only client, or for all clients of the list that do not have them.
    private static let ofClients: [Setting<ProviderDraft>] = {
        let own = Set(ofOpenID.map(\.name))
        let shared: Set = ["redirect_uris", "client_types", "require_code_challenge", "allowed_origins"]
        let ofServer = Set(ownKeys + ["id", "secret", "scopes", "token_endpoint_auth_method"])
        return ClientDraft.settings.map {
            $0.ofProvider(
                \.client,
                $0.kinds.intersection(
                    [.oidc, .oauth2] + (shared.contains($0.name) ? [.camara, .aggregator] : [])
                        + (ofServer.contains($0.name) ? [.aggregator] : [])
                        + ($0.name == "native_nonce" ? [.firebasePNV] : [])))
        }.filter { !own.contains($0.name) }
    }()

    /// It begins as what ``ofClients`` say.
    private static let clientList = Setting<ProviderDraft>(
        name: "clients", type: "a list of clients, or id:secret,id2:secret2",
        schema: .list(of: .definition("client")), isSecret: true,
        meaning: "The apps registered with the provider, if there are several, with the keys of zenkey.clients.",
        set: { node, draft, context in
            draft.clients = ClientDraft.read(node, of: draft.kind, common: draft.client, &context) ?? draft.clients
        },
        show: { $0.clients.map { "\($0.id?.text ?? ""):‹redacted›" }.joined(separator: ",") }
    ).of(.oidc, .oauth2)

    private static let ofNumbers: [Setting<ProviderDraft>] = [
        Setting(
            "purpose", .optional(.purpose), \.purpose,
            "Why phone numbers are verified: a purpose of the W3C Data Privacy Vocabulary, such as "
                + "dpv:FraudPreventionAndDetection, which operators check against the registration."
        ).required("give the purpose that the mobile operators have registered, dpv: and its name"),
        Setting(
            "sim_swap.max_age_hours", .integer(1...2400), \.simSwap.maximumAge,
            "How long a change of the SIM counts, in hours. The default is 240."
        ).withoutDefault(),
        Setting(
            "sim_swap.if_swapped", .choice, \.simSwap.ifSwapped,
            "What a change of the SIM within that time leads to. refuse: the number is not believed; report: it is in "
                + "the log; off: the mobile operator is not asked. The default is refuse if another key of sim_swap is "
                + "given, and off otherwise."
        ).withoutDefault(),
        Setting(
            "sim_swap.if_unknown", .choice, \.simSwap.ifUnknown,
            "What happens if the mobile operator does not tell whether the SIM was changed. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse."
        ).withoutDefault(),
        Setting(
            "telco_finder.issuer", .optional(.issuer), \.telcoFinder.issuer,
            "The issuer of GSMA's Telco Finder, which finds the operator of a phone number, spelled exactly as in its "
                + "metadata."
        ).required(),
        Setting(
            "telco_finder.api_root", .optional(.issuer), \.telcoFinder.apiRoot,
            "The URL that the path of Telco Finder's API follows."
        ).required(),
        Setting(
            "telco_finder.client_id", .optional(.clientID), \.telcoFinder.client.id,
            "The client_id of this server at Telco Finder."
        ).required(),
        Setting(
            "telco_finder.scopes", .list(of: .scope, "a list of scopes"), \.telcoFinder.scopes,
            "The scopes of access tokens for Telco Finder. The default is telcofinder."
        ).withoutDefault(),
        Setting(
            "telco_finder.portability_search", .choice, \.telcoFinder.portabilitySearch,
            "How far Telco Finder searches where numbers move between operators. shallow: in its own records, which "
                + "may be old, at less cost; deep: in all systems of the country. The default is deep."
        ).withoutDefault(),
        Setting(
            "telco_finder.by_address", .flag(), \.telcoFinder.findsByAddress,
            "Whether Telco Finder is asked by the address and port of a phone that names no network and no number."),
        Setting(
            "telco_finder.if_other_operator", .choice, \.telcoFinder.ifOtherOperator,
            "What happens if the number that an operator reports is another operator's by Telco Finder. refuse: the "
                + "number is not believed; report: it is in the log; off: Telco Finder is not asked about reported "
                + "numbers. The default is refuse."
        ).withoutDefault(),
        Setting(
            "telco_finder.if_unknown", .choice, \.telcoFinder.ifUnknown,
            "What happens if Telco Finder does not tell the operator of a reported number. refuse: the number is not "
                + "believed; accept: it is, and the log says so. The default is refuse."
        ).withoutDefault(),
    ]

    /// How the APIs are deployed: at one operator, or at all that do not say it.
    private static let ofDeployments: [Setting<ProviderDraft>] = [
        Setting(
            "api_versions.number_verification", .apiVersion, \.deployment.numberVerification,
            "The version of Number Verification in its path: v0, v1 or v2, also with two more digits, such as v031."),
        Setting(
            "api_versions.sim_swap", .apiVersion, \.deployment.simSwap, "The version of SIM Swap in its path."),
        Setting(
            "api_prefix", .pathPrefix, \.deployment.prefix,
            "What the paths of the CAMARA APIs have before them below api_root, such as /aggregator/v031."),
        Setting(
            "headers", .headers, \.deployment.headers, isSecret: true,
            "Header fields of requests to the CAMARA APIs or the aggregator, by name, such as a key. The operator's "
                + "token endpoint does not get them. An operator's own take the place of the provider's."),
        Setting(
            "operator_token_prefix", .tokenPrefix, \.deployment.operatorTokenPrefix,
            "What is before an operator token where it names the user (login_hint, or sub of a JWT)."),
        Setting(
            "scope_form", .choice, \.deployment.scopeForm,
            "How scopes say the purpose. separate: dpv:Purpose number-verification:verify; combined: "
                + "dpv:Purpose#number-verification:verify; combined-v0: dpv:Purpose#number-verification-verify-read; "
                + "purpose: dpv:Purpose alone."),
    ]

    /// Each operator begins as what the provider says of all, so this is read after it.
    private static let operatorList = Setting<ProviderDraft>(
        name: "operators", type: "a list of operators", schema: .list(of: .definition("operator")), isSecret: false,
        meaning: "The mobile operators, each an OpenID provider with CAMARA APIs.",
        set: { node, draft, context in draft.readOperators(node, &context) },
        show: { $0.operators.compactMap(\.operatorName).joined(separator: ",") }
    ).required("list at least one")

    /// At the providers that tell no subject but the number.
    private static let ofNumberSignIns: [Setting<ProviderDraft>] = [
        Setting(
            "register_unknown_numbers", .flag(), \.numberRules.registersUnknown,
            "Whether a number that no account has registers, as registration says. It may be another person's one day. "
                + "Otherwise its user signs in in another way first, and adds the number as an identity."),
        Setting(
            "sign_in_known_numbers", .flag(), \.numberRules.signsInKnown,
            "Whether a number signs in to the account that has verified it in another way. Otherwise its user signs in "
                + "in another way first, and adds the number as an identity."),
    ]

    private static let ofAggregators: [Setting<ProviderDraft>] = [
        Setting(
            "adapter", .choice, \.aggregator.adapter,
            "The API of the aggregator. sessions: one call prepares a session, and another one takes its credential."),
        Setting(
            "prepare_endpoint", .optional(.carrierURL), \.rules.endpoints["prepare_endpoint"],
            "Where a session is prepared."),
        Setting(
            "process_endpoint", .optional(.carrierURL), \.rules.endpoints["process_endpoint"],
            "Where the credential of a session becomes a phone number."),
        Setting(
            "credential_origins", .list(of: .credentialOrigin, "a list of origins"), \.aggregator.credentialOrigins,
            "The origins that credentials may be for, as aud: of pages, such as https://app.example.com; of an app "
                + "on Android, android:apk-key-hash: and the SHA-256 of its signing certificate in base64url."),
        Setting(
            "mccmnc", .networks, \.aggregator.networks,
            "The networks whose phones are asked for a credential. By default all that link_mccmnc does not list."),
        Setting(
            "link_mccmnc", .networks, \.aggregator.linkNetworks,
            "The networks whose phones open a link over the mobile network instead."),
        Setting(
            "desktop", .flag("on", "off"), \.aggregator.verifiesDesktops,
            "Whether a signed-in user without a phone at hand may verify a number with a QR code for the phone. "
                + "An attacker who makes another person scan the code takes that person's verified number away."),
        Setting(
            "consent", .optional(.shownName), \.aggregator.consent,
            "What the user consents to, for the aggregator to show."),
        Setting(
            "fields", .aggregatorFields, \.aggregator.fields,
            "The names of the members of the aggregator's requests and responses that differ from the defaults, such "
                + "as {session: session.session_key}."),
    ]

    private static let ofFirebase: [Setting<ProviderDraft>] = [
        Setting(
            "project_number", .optional(.projectNumber), \.projectNumber,
            "The number of the Firebase project, which its tokens name as their issuer and as an audience."
        ).required("give the project number that the Firebase console shows, in quotes"),
        Setting(
            "project_id", .optional(.projectID), \.projectID,
            "The id of the Firebase project, which its tokens name as the other audience."
        ).required("give the project ID that the Firebase console shows"),
    ]

    /// The keys of a mobile operator of a provider of verified phone numbers (`kind: camara`).
    static let operatorSettings =
        ofOperators + ofDeployments + ofCredentialRequests
        + ofServer(
            ownKeys + [
                "other_private_key", "other_private_key_id", "other_private_key_alg", "id_token_signed_response_alg",
            ], \.client)

    private static let ofOperators: [Setting<ProviderDraft>] = [
        Setting(
            "name", .optional(.operatorName), \.operatorName,
            "The mobile operator's name in requests: 1 to 32 lower-case letters, digits and hyphens. It must never "
                + "change."
        ).required(),
        Setting(
            "operator_id", .optional(.keyID), \.finderID,
            "The id by which Telco Finder knows the operator (operatorId). The default is its name."),
        Setting(
            "mccmnc", .networks, \.networks, "The networks that the operator serves."),
        Setting(
            "issuer", .optional(.issuer), \.issuer,
            "The mobile operator's issuer, spelled exactly as in its metadata and ID tokens."
        ).required(),
        Setting(
            "api_root", .optional(.issuer), \.apiRoot,
            "The URL that the paths of the operator's CAMARA APIs follow, such as https://api.northwind.example."
        ).required(),
        Setting("client_id", .optional(.clientID), \.client.id, "The client_id of this server at the operator.")
            .required(),
        Setting(
            "hashed_phone_number", .flag(), \.takesHashes,
            "Whether a number to verify is sent as its SHA-256, for a mobile operator that takes it."),
    ]

    private static let ofCredentialRequests: [Setting<ProviderDraft>] = [
        Setting(
            "digital_credential.origins", .list(of: .credentialOrigin, "a list of origins"), \.credentials.origins,
            "The origins that digital credentials for the operator may be for, as credential_origins. With them, "
                + "phones are asked for a credential, which the operator redeems."
        ).required("list the origins of the app and of the pages that ask for credentials"),
        Setting(
            "digital_credential.certificate_file", .optional(.path), \.credentials.certificateFile,
            "A PEM file of the certificate by which phones know who asks, followed by its intermediates."
        ).required(),
        Setting(
            "digital_credential.certificate_key", .optional(.certificateKey), \.credentials.certificateKey,
            isSecret: true, "The private key of that certificate, which signs the requests, in PEM."
        ).required("give it or certificate_key_file"),
        Setting(
            "digital_credential.encryption_key", .optional(.publicEncryptionKey), \.credentials.encryptionKey,
            "The operator's public key that phones encrypt the credential for: a JSON Web Key of P-256, in quotes."
        ).required("give the key that the operator names for it"),
        Setting(
            "digital_credential.consent", .optional(.shownName), \.credentials.consent,
            "What the user consents to, for the phone to show (consent_data)."),
    ]

    private static let ownKeys = ["private_key", "private_key_id", "private_key_alg", "assertion_audience"]

    /// The keys of a client that this server has as the client of an operator or of Telco Finder.
    private static func ofServer(
        _ names: [String], _ path: any (WritableKeyPath<ProviderDraft, ClientDraft> & Sendable), in group: String = ""
    ) -> [Setting<ProviderDraft>] {
        ClientDraft.ofEveryKind.filter { names.contains($0.name) }.map { setting in
            let key = setting.ofProvider(path, in: group, Set(ProviderKind.allCases))
            return setting.name == "private_key" ? key.required("give it or private_key_file") : key
        }
    }
}

extension Setting<ClientDraft> {
    /// The key in the section of a provider that has the client.
    fileprivate func ofProvider(
        _ path: any (WritableKeyPath<ProviderDraft, ClientDraft> & Sendable), in group: String = "",
        _ kinds: Set<ProviderKind>
    ) -> Setting<ProviderDraft> {
        Setting<ProviderDraft>(
            name: group + (["id", "secret"].contains(name) ? "client_\(name)" : name), type: type, schema: schema,
            isSecret: isSecret, meaning: name == "secret" ? "The secret of client_id." : meaning,
            set: { [name, set] node, draft, context in
                set(node, &draft[keyPath: path], &context)
                draft[keyPath: path].place.given[name] = node.origin
            }, show: { [show] in show($0[keyPath: path]) }, reload: reload, kinds: kinds)
    }
}
