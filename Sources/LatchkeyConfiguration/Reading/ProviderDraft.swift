internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// A provider of `providers`, while it is read.
struct ProviderDraft: Sendable {
    var kind: Configuration.Provider.Kind?
    var name: String?
    var issuer: EndpointURL?
    var authorizationEndpoint: EndpointURL?
    var tokenEndpoint: EndpointURL?
    var userEndpoint: EndpointURL?
    var subject: UserEndpoint.Member?
    var attributes: [UserAttribute: UserEndpoint.Member] = [:]
    var profile: SecurityProfile?
    var responseMode: AuthorizationResponseMode?
    var requiresIssuer: Bool?
    var loginInitiationClient: ClientID?
    var pushedAuthorizationRequests: PushedAuthorizationRequests?
    var dpop: DPoPSetting?
    var mutualTLS: MutualTLSSetting?
    var signedRequestObjects: SignedRequestObjects?
    var storesTokens = false
    var resources: [String: EndpointURL] = [:]
    var backchannelLogout = true
    var idTokenHint = true
    var idTokenTypes: [IDTokenType]?
    var clients: [ClientDraft] = []
    var purpose: Purpose?
    var simSwap = SIMSwapDraft()
    var operators: [OperatorDraft] = []
    var redirectURIs: [String]?
    var clientTypes: [String: Set<ClientType>]?
    var requiresCodeChallenge: Bool?
    var allowedOrigins: [Origin]?

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
                + "provider's metadata says that it does."),
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
                + "demands them, or supports them and store_tokens is set; always: a token that is not bound is "
                + "refused; never: not even then. The default is auto. For oidc only."),
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
            "store_tokens", .flag(), \.storesTokens,
            "Stores the access and refresh tokens of its sign-ins for its resources, encrypted with "
                + "vault.encryption_keys."),
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
            "clients", "a list of clients, or id:secret,id2:secret2", isSecret: true,
            "The apps registered with the provider, with the keys of zenkey.clients.",
            set: { node, draft, context in
                draft.clients = ClientDraft.read(node, known: [], &context) ?? draft.clients
            },
            show: { $0.clients.compactMap { $0.id.map { "\($0.text):‹redacted›" } }.joined(separator: ",") }),
    ]

    /// The key that holds the providers.
    static let setting = Setting<Configuration>(
        "providers", "a group of providers", isSecret: true,
        "Ways to sign in other than the carriers, each under its name in paths. The variable, or a file of its own, "
            + "holds YAML or JSON.",
        set: { node, configuration, context in
            guard let entries = entries(of: node, &context) else { return }
            configuration.providers = entries.flatMap { read($0, &context) }
        }, show: { $0.providers.map { "\($0.id) (\($0.kind.rawValue))" }.joined(separator: ",") })

    /// The providers by name, from the file or from a text that is itself YAML or JSON.
    private static func entries(of node: ConfigurationNode, _ context: inout ReadingContext) -> [ConfigurationEntry]? {
        switch node.value {
        case .mapping(let entries): return entries
        case .text(let text):
            do throws(YAMLDocument.Refusal) {
                return try YAMLDocument.read(Array(text.utf8), path: "\(node.origin)")
            } catch {
                context.refuse(node.origin, error.reason, error.remedy)
            }
        case .list, .empty:
            context.refuse(node.origin, "is \(node.kind)", "give a group of providers, each under its name")
        }
        return nil
    }

    /// The provider, or one for each of its mobile operators; none after reporting what is wrong.
    private static func read(_ entry: ConfigurationEntry, _ context: inout ReadingContext) -> [Configuration.Provider] {
        context.beneath("." + (Printable.name(entry.name) ?? "(unnamed)")) { context in
            let id = entry.name
            guard (1...32).contains(id.utf8.count), id.consists(of: .lowerCaseAndDigits + "-"), id != "zenkey" else {
                context.refuse(
                    entry.origin, "is not the name of a provider",
                    "use 1 to 32 lower-case letters, digits and hyphens; zenkey is the carriers' name")
                return []
            }
            guard case .mapping(let entries) = entry.node.value else {
                context.refuse(
                    entry.origin, "is \(entry.node.kind), but it is a group of keys", "write its keys below it")
                return []
            }
            let before = context.problems
            var draft = ProviderDraft()
            SettingsReader.read(entries, settings, into: &draft, &context)
            let isBroken = context.problems.count != before.count
            if draft.kind == .camara { return draft.operators(id: id, entry.origin, isBroken: isBroken, &context) }
            draft.refuseKeysOfNumbers(entry.origin, &context)
            return draft.finished(id: id, entry.origin, isBroken: isBroken, &context).map { [$0] } ?? []
        }
    }

    /// The provider, or nil after reporting what is missing.
    private mutating func finished(
        id: String, _ origin: ConfigurationOrigin, isBroken: Bool, _ context: inout ReadingContext
    ) -> Configuration.Provider? {
        if let profile {
            let before = context.problems.count
            meet(profile, origin, &context)
            guard context.problems.count == before else { return nil }
        }
        let clients = clients.enumerated().compactMap { index, draft in
            context.beneath(".clients[\(index)]") { context in
                var draft = draft
                return draft.finished(
                    &context, secretRemedy: "give it, or secret_file, or signed_secret", hasIDTokens: kind != .oauth2,
                    assertionAudience: kind == .oauth2 ? .tokenEndpoint : .issuer)
            }
        }
        guard !isBroken, clients.count == self.clients.count else { return nil }
        if kind == nil { context.refuse(origin, "has no kind", "give it: oidc, oauth2 or camara") }
        if issuer == nil { context.refuse(origin, "has no issuer", "give the provider's issuer, an https URL") }
        if clients.isEmpty { context.refuse(origin, "has no clients", "give the app's client id and secret") }
        guard let kind, let issuer, !clients.isEmpty else { return nil }
        var provider = Configuration.Provider(id: id, kind: kind, name: name, issuer: issuer, clients: clients)
        provider.profile = profile
        provider.responseMode = responseMode ?? .query
        provider.requiresIssuer = requiresIssuer ?? false
        provider.loginInitiationClient = loginInitiationClient
        if let problem = loginInitiationProblem(kind, clients) {
            context.refuse(origin, "has initiate_login_client, but \(problem.reason)", problem.remedy)
        }
        provider.storesTokens = storesTokens
        provider.resources = resources
        if !resources.isEmpty, !storesTokens {
            context.refuse(origin, "has resources, but stores no tokens to fetch them with", "set store_tokens to true")
        }
        provider.backchannelLogout = backchannelLogout
        provider.idTokenHint = idTokenHint
        provider.idTokenTypes = idTokenTypes ?? provider.idTokenTypes
        provider.pushedAuthorizationRequests = pushedAuthorizationRequests ?? .auto
        provider.signedRequestObjects = signedRequestObjects ?? .auto
        if kind == .oauth2, provider.responseMode.isSigned {
            context.refuse(
                origin, "has response_mode: \(provider.responseMode.rawValue), but no metadata that names the keys",
                "make it query or form_post, or make the kind oidc")
        }
        if kind == .oauth2, signedRequestObjects != nil {
            context.refuse(
                origin, "has request_object, but no issuer that signed requests are for",
                "remove it, or make the kind oidc")
        }
        if kind == .oauth2, pushedAuthorizationRequests != nil {
            context.refuse(
                origin, "has par, but no metadata that names the endpoint", "remove it, or make the kind oidc")
        }
        provider.mutualTLS = mutualTLS ?? .auto
        if kind == .oauth2, mutualTLS != nil {
            context.refuse(
                origin, "has mtls, but no metadata that says what the provider supports",
                "remove it: a client may authenticate with its certificate_file without it; or make the kind oidc")
        }
        provider.dpop = dpop ?? .auto
        if kind == .oauth2, dpop != nil {
            context.refuse(
                origin, "has dpop, but no metadata that says what the provider supports",
                "remove it, or make the kind oidc")
        }
        if kind == .oauth2, idTokenTypes != nil {
            context.refuse(origin, "has id_token_types, but no ID tokens", "remove it, or make the kind oidc")
        }
        let ofOAuth2 = [
            ("authorization_endpoint", authorizationEndpoint != nil), ("token_endpoint", tokenEndpoint != nil),
            ("user_endpoint", userEndpoint != nil), ("subject", subject != nil),
        ]
        for (name, isGiven) in ofOAuth2 where isGiven != (kind == .oauth2) {
            context.refuse(
                origin, isGiven ? "has \(name), which its metadata gives" : "has no \(name)",
                isGiven ? "remove it, or make the kind oauth2" : "give it")
        }
        guard kind == .oauth2 else { return provider }
        guard let authorizationEndpoint, let tokenEndpoint, let userEndpoint, let subject else { return nil }
        var user = UserEndpoint(url: userEndpoint, subject: subject)
        user.attributes = attributes
        provider.endpoints = .init(authorization: authorizationEndpoint, token: tokenEndpoint, user: user)
        return provider
    }

    /// Why sign-ins of the named client cannot be initiated.
    private func loginInitiationProblem(
        _ kind: Configuration.Provider.Kind, _ clients: [Configuration.Client]
    ) -> (reason: String, remedy: String)? {
        guard let id = loginInitiationClient else { return nil }
        guard kind != .oauth2 else {
            return ("only an OpenID provider initiates sign-ins", "remove it, or make the kind oidc")
        }
        guard let client = clients.first(where: { $0.id == id }) else {
            return ("it has no client \(id.text)", "give the id of one of its clients")
        }
        guard client.redirectURIs.contains(where: { client.allows(.web, at: $0) }) else {
            return (
                "\(id.text) has no redirect URI for web, where the browser would arrive",
                "add one to its redirect_uris, or remove initiate_login_client"
            )
        }
        return nil
    }
}
