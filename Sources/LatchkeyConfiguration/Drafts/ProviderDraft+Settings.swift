internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// The keys of a provider.
extension ProviderDraft {
    static let settings = ofAllKinds + ofNumbers

    private static let ofAllKinds: [Setting<ProviderDraft>] = [
        Setting(
            "kind", .optional(.choice(of: [.oidc, .oauth2, .camara])), \.kind,
            "oidc: an OpenID provider, found by its issuer; oauth2: a provider without ID tokens; camara: mobile "
                + "operators that tell the verified phone number of a device."),
        Setting("name", .optional(.shownName), \.name, "The name that users see; by default the name in paths."),
        Setting(
            "issuer", .optional(.issuer), \.issuer,
            "The issuer, spelled exactly as in the provider's metadata and ID tokens. For oauth2 it is the issuer of "
                + "the users' identities and must never change."),
        Setting(
            "authorization_endpoint", .optional(.carrierURL), \.authorizationEndpoint,
            "The authorization endpoint; for oauth2 only."),
        Setting("token_endpoint", .optional(.carrierURL), \.tokenEndpoint, "The token endpoint; for oauth2 only."),
        Setting(
            "user_endpoint", .optional(.carrierURL), \.userEndpoint,
            "The URL that returns the user as JSON for an access token; for oauth2 only."),
        Setting(
            "subject", .optional(.member), \.subject,
            "The member of the user's JSON that identifies the user and is never reassigned, such as id; for oauth2 "
                + "only."),
        Setting(
            "attributes", .attributes, \.attributes,
            "The members of the user's JSON for name, given_name, family_name, email, phone_number and postal_code, if "
                + "they have other names; data.email is the member email of the object data. For oauth2 only."),
        Setting(
            "profile", .optional(.choice), \.profile,
            "A security profile. fapi2: FAPI 2.0 Security Profile; fapi2-message-signing: also with signed "
                + "authorization requests and responses. It sets par, dpop, require_iss and more; a setting that "
                + "contradicts it is refused. For oidc only."),
        Setting(
            "response_mode", .optional(.choice), \.responseMode,
            "form_post: the provider sends the browser back with a form; query: with a redirect; jwt, query.jwt or "
                + "form_post.jwt: with a signed response (JARM), and no other is accepted; for oidc only. The default "
                + "is query."),
        Setting(
            "require_iss", .optional(.flag()), \.requiresIssuer,
            "Whether every authorization response must name its issuer (RFC 9207). By default it must if the "
                + "provider's metadata says that it does. With false it need not even then: for metadata that is "
                + "wrong. An issuer that is named must be right."),
        Setting(
            "initiate_login_client", .optional(.clientID), \.loginInitiationClient,
            "The client whose sign-ins the provider or another site may initiate (OpenID Connect Core section 4). By "
                + "default nobody may. For oidc only."),
        Setting(
            "par", .optional(.choice), \.pushedAuthorizationRequests,
            "Pushed authorization requests (RFC 9126). auto: if the provider's metadata requires them; always: also if "
                + "it does not; never: not even then. The default is auto. For oidc only."),
        Setting(
            "dpop", .optional(.choice), \.dpop,
            "Access tokens that are bound to a key of this server (DPoP, RFC 9449). auto: if the provider's metadata "
                + "demands them, or supports them and store_tokens is set or the kind is camara; always: a token that "
                + "is not bound is refused; never: not even then. The default is auto. For oidc and camara."),
        Setting(
            "mtls", .optional(.choice), \.mutualTLS,
            "Mutual TLS (RFC 8705) with the certificate_file of the client. auto: where the client authenticates with "
                + "it, or the provider's metadata says that tokens can be bound to it; always: a provider whose "
                + "metadata does not say so is refused; never: not even then. The default is auto. For oidc only."),
        Setting(
            "request_object", .optional(.choice), \.signedRequestObjects,
            "Signed authorization requests (RFC 9101), with the private_key of the client. auto: if the provider's "
                + "metadata requires them; always: also if it does not; never: not even then. The default is auto. For "
                + "oidc only."),
        Setting(
            "backchannel_token_delivery_mode", .optional(.choice), \.backchannelTokenDelivery,
            "Backchannel authentication (CIBA), and how the provider delivers its tokens, as registered for the "
                + "clients. poll: the provider is asked; ping: it is also asked once it has notified this server; off: "
                + "there is none. The default is off. For oidc only."),
        Setting(
            "store_tokens", .flag(), \.storesTokens,
            "Stores the access and refresh tokens of its sign-ins for its resources, encrypted with "
                + "encryption_keys."),
        Setting(
            "resources", .resources, \.resources,
            "The resources that signed-in users can fetch with their tokens, by name, each with the url that returns "
                + "it as JSON to a GET request."),
        Setting(
            "backchannel_logout", .flag("on", "off"), \.backchannelLogout,
            "Whether the provider may end the sessions that it signed in; for oidc only."),
        Setting(
            "id_token_hint", .flag("on", "off"), \.idTokenHint,
            "Whether logout at the provider sends the ID token of the sign-in, which is stored with the session, "
                + "encrypted; for oidc only."),
        Setting(
            "id_token_types", .optional(.list(of: .choice, "a list of types")), \.idTokenTypes,
            "The values of typ that the provider's ID tokens may have; absent is an ID token without typ. The default "
                + "is JWT and absent. For oidc only."),
        Setting(
            "clients", "a list of clients, or id:secret,id2:secret2", schema: .list(of: .definition("client")),
            isSecret: true,
            "The apps registered with the provider, with the keys of zenkey.clients.",
            set: { node, draft, context in
                draft.clients = ClientDraft.read(node, known: [], &context) ?? draft.clients
            },
            show: { $0.clients.compactMap { $0.id.map { "\($0.text):‹redacted›" } }.joined(separator: ",") }),
    ]
}
