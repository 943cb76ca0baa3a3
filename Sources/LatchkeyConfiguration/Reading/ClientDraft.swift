internal import OpenIDConnect
internal import Primitives

/// A client of `zenkey.clients`, or of a provider, as far as it is known: the file may leave the secret of the former to
/// the environment.
struct ClientDraft: Sendable {
    var id: ClientID?
    var secret: Secret?
    var method: ClientAuthenticationMethod?
    var privateKey: ClientKey?
    var privateKeyID: String?
    var assertionAudience = ClientAssertionAudience.tokenEndpoint
    var secretIssuer: String?
    var secretAudience: EndpointURL?
    var redirectURIs: [String] = []
    var scopes = ["openid"]
    var allowedOrigins: [Origin] = []
    /// Where they stand, if they are given.
    var scopesOrigin: ConfigurationOrigin?
    var pkce = Configuration.Client.PKCE.required
    var nonce = Configuration.Client.Nonce.client
    var sessions = Configuration.Client.Sessions()
    /// Where its entry stands.
    var origin = ConfigurationOrigin.none
    /// Whether something in it was refused already.
    var isBroken = false

    static let settings: [Setting<ClientDraft>] = [
        Setting("id", .optional(.clientID), \.id, "The client_id that the carriers gave to the app."),
        Setting(
            "secret", .optional(.clientSecret), \.secret, isSecret: true,
            "The secret that goes with it; LATCHKEY_ZENKEY_CLIENTS may give it instead."),
        Setting(
            "token_endpoint_auth_method", .optional(.choice), \.method,
            "How carriers are shown that this is the client. Without it: private_key_jwt for a client that has a key and "
                + "no secret, else client_secret_basic."),
        Setting(
            "private_key", .optional(.clientKey), \.privateKey, isSecret: true,
            "The key for private_key_jwt and server-initiated sign-in, in PEM or as a JSON Web Key: RSA of 2048 bits or "
                + "more (RS256), or P-256 (ES256)."),
        Setting(
            "private_key_id", .optional(.keyID), \.privateKeyID,
            "The kid under which carriers know the key; a JSON Web Key may bring its own."),
        Setting(
            "assertion_audience", .choice, \.assertionAudience,
            "Whom a private_key_jwt is for: the carrier's token endpoint, or its issuer."),
        Setting(
            "signed_secret.issuer", .optional(.shownName), \.secretIssuer,
            "Makes the secret a JWT that private_key signs, as Sign in with Apple has it: its iss, there the id of the team."
        ),
        Setting(
            "signed_secret.audience", .optional(.carrierURL), \.secretAudience,
            "The aud of such a secret: the provider, there https://appleid.apple.com."),
        Setting(
            "redirect_uris", .list(of: .redirectURI, "a list of redirect URIs"), \.redirectURIs,
            "The redirect URIs a sign-in may name; with none, it may name any."),
        Setting("scopes", .list(of: .scope, "a list of scopes"), \.scopes, "What the app asks the carriers for."),
        Setting(
            "allowed_origins", .list(of: .origin, "a list of origins"), \.allowedOrigins,
            "Origins of the app's web frontends, which may call the API from a browser without an API key, for this client "
                + "only."),
        Setting("pkce", .choice, \.pkce, "required: a sign-in must carry the code verifier; optional: it may."),
        Setting(
            "nonce", .choice, \.nonce,
            "client: the app makes its own nonce; issued: only a nonce that this server handed out, once."),
        Setting(
            "sessions.access_lifetime", .optional(.duration(1...31_536_000)), \.sessions.accessLifetime,
            "In the place of the general one, for the app's sessions."),
        Setting(
            "sessions.refresh_lifetime", .optional(.duration(1...315_360_000)), \.sessions.refreshLifetime,
            "In the place of the general one, for the app's sessions."),
        Setting(
            "sessions.idle_timeout", .optional(.duration(60...315_360_000)), \.sessions.idleTimeout,
            "In the place of the general one, for the app's sessions."),
        Setting(
            "sessions.absolute_timeout", .optional(.duration(60...315_360_000)), \.sessions.absoluteTimeout,
            "In the place of the general one, for the app's sessions."),
    ]

    /// The key that takes them all.
    static let setting = Setting<Configuration>(
        "zenkey.clients", "a list of clients, or id:secret,id2:secret2", isSecret: true, isMerged: true,
        "The apps registered with the carriers. Given in the environment too, only the clients named there count, and "
            + "their secrets are those; the rest of what the file says of them holds.",
        set: { node, _, context in
            if let drafts = read(node, known: context.clients, &context) { context.clients = drafts }
        },
        show: { $0.zenkey.clients.map { "\($0.id.text):‹redacted›" }.joined(separator: ",") })

    /// The client, or nil if its id or what proves it is missing, after reporting so.
    func finished(
        _ context: inout ReadingContext, secretRemedy: String = "give it, or secret_file, or LATCHKEY_ZENKEY_CLIENTS",
        hasIDTokens: Bool = true
    ) -> Configuration.Client? {
        guard !isBroken else { return nil }
        guard let id else {
            context.refuse(origin, "has no id", "give it")
            return nil
        }
        guard hasIDTokens ? scopes.contains("openid") : nonce == .client else {
            if hasIDTokens {
                context.beneath(".scopes") { $0.refuse(scopesOrigin ?? .none, "openid is missing", "add openid") }
            } else {
                context.refuse(origin, "has nonce: issued, but no ID token could repeat it", "leave nonce out")
            }
            return nil
        }
        guard let authentication = authentication(&context, secretRemedy) else { return nil }
        var client = Configuration.Client(id: id, authentication: authentication)
        client.redirectURIs = redirectURIs
        client.scopes = hasIDTokens || scopesOrigin != nil ? scopes : []
        client.allowedOrigins = allowedOrigins
        client.pkce = pkce
        client.nonce = nonce
        client.sessions = sessions
        client.signingKey = namedKey
        return client
    }

    /// The key under the `kid` that carriers know it by.
    private var namedKey: ClientKey? {
        guard let privateKey, let privateKeyID else { return privateKey }
        return privateKey.named(privateKeyID)
    }

    private func authentication(
        _ context: inout ReadingContext, _ secretRemedy: String
    ) -> ClientAuthentication? {
        if secretIssuer != nil || secretAudience != nil { return signedSecret(&context) }
        let method = method ?? (secret == nil && privateKey != nil ? .privateKeyJWT : .clientSecretBasic)
        if method == .privateKeyJWT {
            guard let key = namedKey else {
                context.refuse(
                    origin, "has no private_key", "give it or private_key_file, or another way to authenticate")
                return nil
            }
            return .privateKeyJWT(key, audience: assertionAudience)
        }
        guard let secret else {
            context.refuse(origin, "has no secret", secretRemedy)
            return nil
        }
        return method == .clientSecretPost ? .clientSecretPost(secret) : .clientSecretBasic(secret)
    }
}

extension ClientDraft {
    private func signedSecret(_ context: inout ReadingContext) -> ClientAuthentication? {
        guard let secretIssuer, let secretAudience, let key = namedKey else {
            context.refuse(
                origin, "has not all that a signed_secret needs",
                "give its issuer and audience, and private_key or private_key_file")
            return nil
        }
        guard secret == nil, method == nil || method == .clientSecretPost else {
            context.refuse(
                origin, "has a signed_secret, and another way to authenticate",
                "remove secret and token_endpoint_auth_method, or signed_secret")
            return nil
        }
        return .signedClientSecret(
            SignedClientSecret(issuer: secretIssuer, audience: secretAudience.text, key: key))
    }

    /// Reads clients: a list makes them, `id:secret` pairs replace what is known of the secrets. Nil after reporting that
    /// there is no list.
    static func read(
        _ node: ConfigurationNode, known: [ClientDraft], _ context: inout ReadingContext
    ) -> [ClientDraft]? {
        guard let items = ListText.items(of: node, "a list of clients, or id:secret,id2:secret2", &context) else {
            return nil
        }
        var drafts: [ClientDraft] = []
        for (index, item) in items.enumerated() {
            context.beneath("[\(index)]") { context in
                var draft = read(item: item, known, &context)
                draft.origin = item.origin
                if let id = draft.id, drafts.contains(where: { $0.id == id }) {
                    context.refuse(item.origin, "has the id of another client", "keep one of them")
                }
                drafts.append(draft)
            }
        }
        return drafts
    }

    private static func read(
        item: ConfigurationNode, _ known: [ClientDraft], _ context: inout ReadingContext
    ) -> ClientDraft {
        let before = context.problems
        var draft: ClientDraft
        switch item.value {
        case .mapping(let entries):
            draft = ClientDraft()
            readMapping(entries, into: &draft, &context)
        case .text(let text):
            draft = readPair(text, item, known, &context)
        case .list, .empty:
            draft = ClientDraft()
            context.refuse(item.origin, "is \(item.kind)", "give id, secret and what else the client has")
        }
        draft.isBroken = context.problems.count != before.count
        return draft
    }

    private static func readMapping(
        _ entries: [ConfigurationEntry], into draft: inout ClientDraft, _ context: inout ReadingContext
    ) {
        var reader = SettingsReader(settings)
        reader.collect(entries, &context)
        for setting in settings {
            if let node = reader.values[setting.name] { setting.apply(node, to: &draft, &context) }
        }
        draft.scopesOrigin = reader.values["scopes"]?.origin
    }

    /// `id:secret`, with what the file says of that client.
    private static func readPair(
        _ text: String, _ item: ConfigurationNode, _ known: [ClientDraft], _ context: inout ReadingContext
    ) -> ClientDraft {
        guard let colon = text.firstIndex(of: ":") else {
            context.refuse(item.origin, "has no colon", "write id:secret")
            return ClientDraft()
        }
        var (idNode, secretNode) = (item, item)
        idNode.value = .text(String(text[..<colon]))
        secretNode.value = .text(String(text[text.index(after: colon)...]))
        let id = context.beneath(".id") { ValueType<ClientID>.clientID.read(idNode, &$0) }
        let secret = context.beneath(".secret") { ValueType<Secret>.clientSecret.read(secretNode, &$0) }
        var draft = known.first { $0.id != nil && $0.id == id } ?? ClientDraft()
        draft.id = id
        draft.secret = secret
        return draft
    }
}
