internal import OpenIDConnect
internal import Primitives
internal import SignIn

/// A client of `zenkey.clients`, or of a provider, while it is read. The file may leave the secret of the former to the
/// environment.
struct ClientDraft: Sendable {
    var id: ClientID?
    var secret: Secret?
    var method: ClientAuthenticationMethod?
    var basicEncoding: BasicCredentialsEncoding?
    var privateKey: ClientKey?
    var privateKeyID: String?
    var privateKeyAlgorithm: SigningAlgorithm?
    var certificateFile: String?
    var certificateKey: Secret?
    /// What ``finished`` has read from these two.
    var clientTLS: ClientTLS?
    var otherPrivateKey: ClientKey?
    var otherPrivateKeyID: String?
    var otherPrivateKeyAlgorithm: SigningAlgorithm?
    var assertionAudience: ClientAssertionAudience?
    var secretIssuer: String?
    var secretAudience: EndpointURL?
    var redirectURIs: [String] = []
    var clientTypes: [String: Set<ClientType>] = [:]
    var requiresCodeChallenge = false
    var scopes = ["openid"]
    var allowedOrigins: [Origin] = []
    /// The place of `scopes`, if it is given.
    var scopesOrigin: ConfigurationOrigin?
    var pkce = Configuration.Client.PKCE.required
    var nonce = Configuration.Client.Nonce.client
    var idTokenSigningAlgorithm: SigningAlgorithm?
    var userInfoSigningAlgorithm: SigningAlgorithm?
    var idTokenKeyManagement: KeyManagementAlgorithm?
    var idTokenEncryption: ContentEncryption?
    var decryptionKey: DecryptionKey?
    var decryptionKeyID: String?
    var otherDecryptionKey: DecryptionKey?
    var otherDecryptionKeyID: String?
    var responseSigningAlgorithm: SigningAlgorithm?
    /// What ID tokens may be signed with if the client's algorithm is not given.
    var usualSigningAlgorithms = SigningAlgorithm.standard
    var sessions = SignInConfiguration.SessionTimes()
    /// The place of the client's entry.
    var origin = ConfigurationOrigin.none
    /// Whether a problem with it was reported.
    var isBroken = false

    static let settings: [Setting<ClientDraft>] = [
        Setting("id", .optional(.clientID), \.id, "The client_id of the app at the carriers."),
        Setting(
            "secret", .optional(.clientSecret), \.secret, isSecret: true,
            "The client secret; LATCHKEY_ZENKEY_CLIENTS may give it instead."),
        Setting(
            "token_endpoint_auth_method", .optional(.choice), \.method,
            "How the client authenticates at the token endpoint. The default for a client without a secret is "
                + "private_key_jwt if it has a private key, else tls_client_auth if it has a certificate, or "
                + "self_signed_tls_client_auth if the certificate is self-signed; otherwise it is client_secret_basic. "
                + "none is for a public client, which has "
                + "neither, of an oauth2 provider; there it is the default for a client without both."),
        Setting(
            "client_secret_basic_encoding", .optional(.choice), \.basicEncoding,
            "How id and secret are written in client_secret_basic: form_urlencoded, as RFC 6749 demands and by "
                + "default; or plain, for a provider that does not decode them."),
        Setting(
            "certificate_file", .optional(.path), \.certificateFile,
            "A PEM file of the client's TLS certificate (RFC 8705), followed by its intermediates. The client "
                + "authenticates with it, or its tokens are bound to it."
        ).reloaded(.value),
        Setting(
            "certificate_key", .optional(.certificateKey), \.certificateKey, isSecret: true,
            "The private key of the certificate, in PEM without a passphrase."
        ).reloaded(.value),
        Setting(
            "private_key", .optional(.clientKey), \.privateKey, isSecret: true,
            "The private key for private_key_jwt, signed authorization requests and backchannel authentication, in "
                + "PEM or as a JSON Web Key: RSA of at least 2048 bits (RS256 or PS256), P-256 (ES256), or Ed25519 "
                + "(EdDSA)."),
        Setting(
            "private_key_id", .optional(.keyID), \.privateKeyID,
            "The kid of the private key at the carriers; a JSON Web Key may have its own. Otherwise it is the key's "
                + "thumbprint (RFC 7638)."),
        Setting(
            "private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.privateKeyAlgorithm,
            "What the private key signs with; a JSON Web Key may have its own. The default is RS256 for RSA and EdDSA "
                + "for Ed25519."),
        Setting(
            "other_private_key", .optional(.clientKey), \.otherPrivateKey, isSecret: true,
            "A second private key, which signs nothing: /.well-known/jwks.json has its public half before it replaces "
                + "private_key, and after it was replaced."
        ).reloaded(.value),
        Setting(
            "other_private_key_id", .optional(.keyID), \.otherPrivateKeyID,
            "The kid of other_private_key, as private_key_id."
        ).reloaded(.value),
        Setting(
            "other_private_key_alg", .optional(.choice(of: ClientKey.algorithms)), \.otherPrivateKeyAlgorithm,
            "What other_private_key signs with, as private_key_alg."
        ).reloaded(.value),
        Setting(
            "assertion_audience", .optional(.choice), \.assertionAudience,
            "The audience of a private_key_jwt. issuer: the provider's issuer, the default for OpenID providers; "
                + "token_endpoint: its token endpoint, the default for carriers and for oauth2; endpoint: the endpoint "
                + "that the request goes to."),
        Setting(
            "signed_secret.issuer", .optional(.shownName), \.secretIssuer,
            "The iss of a client secret that is a JWT signed with private_key; for Sign in with Apple the team id."),
        Setting(
            "signed_secret.audience", .optional(.carrierURL), \.secretAudience,
            "The aud of such a client secret; for Sign in with Apple https://appleid.apple.com."),
        Setting(
            "redirect_uris", .list(of: .redirectURI, "a list of redirect URIs"), \.redirectURIs,
            "The redirect URIs that a sign-in may name; by default any."),
        Setting(
            "client_types", .clientTypes, \.clientTypes,
            "The kinds of frontend that a redirect URI is for, by redirect URI; by default ios and android for an "
                + "app's own scheme, web, spa and popup for https, and all for http on this machine."),
        Setting(
            "require_code_challenge", .flag(), \.requiresCodeChallenge,
            "Whether a sign-in by redirects needs a code_challenge, unless its session is in a cookie (web)."),
        Setting("scopes", .list(of: .scope, "a list of scopes"), \.scopes, "The scopes that the app requests."),
        Setting(
            "allowed_origins", .list(of: .origin, "a list of origins"), \.allowedOrigins,
            "The origins of the app's web frontends, which may call the API from a browser without an API key, for "
                + "this client only."),
        Setting(
            "pkce", .choice, \.pkce,
            "required: a sign-in must have a code verifier; optional: it may have one, and has no retry without."
        ),
        Setting(
            "nonce", .choice, \.nonce,
            "client: the app makes its own nonce; issued: only a nonce that this server has issued is accepted, once."),
        Setting(
            "id_token_signed_response_alg", .optional(.choice), \.idTokenSigningAlgorithm,
            "The only algorithm that the client's ID tokens and logout tokens may be signed with. By default RS256 and "
                + "ES256 are accepted, as far as the provider's metadata lists them."),
        Setting(
            "id_token_encrypted_response_alg", .optional(.choice), \.idTokenKeyManagement,
            "How the client's ID tokens are encrypted: RSA-OAEP-256 with an RSA decryption_key, ECDH-ES with one of "
                + "P-256. Then no other is accepted. By default none is encrypted."),
        Setting(
            "id_token_encrypted_response_enc", .optional(.choice), \.idTokenEncryption,
            "How the content of encrypted ID tokens is encrypted. The default is A256GCM."),
        Setting(
            "decryption_key", .optional(.decryptionKey), \.decryptionKey, isSecret: true,
            "The private key that decrypts ID tokens, in PEM or as a JSON Web Key: RSA of at least 2048 bits, or "
                + "P-256. /.well-known/jwks.json has its public half."),
        Setting(
            "decryption_key_id", .optional(.keyID), \.decryptionKeyID,
            "The kid of decryption_key, as private_key_id."),
        Setting(
            "other_decryption_key", .optional(.decryptionKey), \.otherDecryptionKey, isSecret: true,
            "A second key that decrypts ID tokens and is not published: the next decryption_key, or the one before."),
        Setting(
            "other_decryption_key_id", .optional(.keyID), \.otherDecryptionKeyID,
            "The kid of other_decryption_key, as private_key_id."),
        Setting(
            "userinfo_signed_response_alg", .optional(.choice), \.userInfoSigningAlgorithm,
            "The algorithm that userinfo responses must be signed with. By default a response may be plain JSON, or "
                + "signed with RS256 or ES256."),
        Setting(
            "authorization_signed_response_alg", .optional(.choice), \.responseSigningAlgorithm,
            "The algorithm that authorization responses must be signed with, where the provider's response_mode is a "
                + "jwt. The default is RS256."),
        Setting(
            "sessions.access_lifetime", .optional(.seconds(1...31_536_000)), \.sessions.access,
            "Replaces the general value for this client's sessions."),
        Setting(
            "sessions.refresh_lifetime", .optional(.seconds(1...315_360_000)), \.sessions.refresh,
            "Replaces the general value for this client's sessions."),
        Setting(
            "sessions.idle_timeout", .optional(.seconds(60...315_360_000)), \.sessions.idle,
            "Replaces the general value for this client's sessions."),
        Setting(
            "sessions.absolute_timeout", .optional(.seconds(60...315_360_000)), \.sessions.absolute,
            "Replaces the general value for this client's sessions."),
    ]

    /// The key that holds the clients.
    static let setting = Setting<Configuration>(
        "zenkey.clients", "a list of clients, or id:secret,id2:secret2", isSecret: true, isMerged: true,
        "The apps registered with the carriers. If the environment gives it too, only the clients named there are "
            + "used, with the secrets given there and the file's other values.",
        set: { node, _, context in
            if let drafts = read(node, known: context.clients, &context) { context.clients = drafts }
        }, show: { $0.zenkey.clients.map { "\($0.id.text):‹redacted›" }.joined(separator: ",") })

    /// The client, or nil after reporting that its id or its credentials are missing.
    mutating func finished(
        _ context: inout ReadingContext, secretRemedy: String = "give it, or secret_file, or LATCHKEY_ZENKEY_CLIENTS",
        hasIDTokens: Bool = true, assertionAudience audience: ClientAssertionAudience = .tokenEndpoint
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
                context.refuse(
                    origin, "has nonce: issued, but there is no ID token that could carry it", "remove nonce")
            }
            return nil
        }
        let algorithms = [
            ("id_token_signed_response_alg", idTokenSigningAlgorithm),
            ("userinfo_signed_response_alg", userInfoSigningAlgorithm),
            ("authorization_signed_response_alg", responseSigningAlgorithm),
        ]
        if !hasIDTokens, let name = algorithms.first(where: { $0.1 != nil })?.0 {
            context.refuse(origin, "has \(name), but its provider has no ID tokens", "remove it")
            return nil
        }
        guard hasFittingClientTypes(&context), hasFittingAlgorithms(&context), readCertificate(&context) else {
            return nil
        }
        guard
            let authentication = authentication(
                &context, secretRemedy, hasIDTokens: hasIDTokens, assertionAudience: audience)
        else { return nil }
        guard hasFittingEncoding(id, authentication, &context) else { return nil }
        guard hasFittingKeys(authentication, &context) else { return nil }
        guard hasFittingDecryption(&context, hasIDTokens: hasIDTokens) else { return nil }
        var client = Configuration.Client(id: id, authentication: authentication)
        client.idTokenDecryption = idTokenDecryption
        client.clientTLS = clientTLS
        client.redirectURIs = redirectURIs
        client.clientTypes = clientTypes
        client.requiresCodeChallenge = requiresCodeChallenge
        client.scopes = hasIDTokens || scopesOrigin != nil ? scopes : []
        client.allowedOrigins = allowedOrigins
        client.pkce = pkce
        client.nonce = nonce
        client.idTokenSigningAlgorithm = idTokenSigningAlgorithm
        client.usualSigningAlgorithms = usualSigningAlgorithms
        client.userInfoSigningAlgorithm = userInfoSigningAlgorithm
        client.responseSigningAlgorithm = responseSigningAlgorithm ?? client.responseSigningAlgorithm
        client.sessions = sessions
        client.signingKey = namedKey
        client.otherKey = otherNamedKey
        return client
    }

    /// The private key with its `kid` and its algorithm at the carriers. `hasFittingAlgorithms` has checked the latter.
    private var namedKey: ClientKey? { Self.key(privateKey, privateKeyID, privateKeyAlgorithm) }

    private var otherNamedKey: ClientKey? { Self.key(otherPrivateKey, otherPrivateKeyID, otherPrivateKeyAlgorithm) }

    private static func key(_ key: ClientKey?, _ id: String?, _ algorithm: SigningAlgorithm?) -> ClientKey? {
        guard let key else { return nil }
        let signing = algorithm.flatMap { key.signing(with: $0) } ?? key
        return id.map(signing.named) ?? signing
    }

    /// How the client authenticates if the file does not say it.
    private var usualMethod: ClientAuthenticationMethod {
        guard secret == nil else { return .clientSecretBasic }
        if privateKey != nil { return .privateKeyJWT }
        guard let certificate = clientTLS?.certificate else { return .clientSecretBasic }
        return certificate.isSelfIssued ? .selfSignedTLSClientAuth : .tlsClientAuth
    }

    private func mutualTLS(
        _ method: ClientAuthenticationMethod, _ context: inout ReadingContext
    ) -> ClientAuthentication? {
        guard let clientTLS else {
            context.refuse(
                origin, "has token_endpoint_auth_method: \(method.rawValue), but no certificate_file",
                "give it and certificate_key_file, or another way to authenticate")
            return nil
        }
        guard secret == nil else {
            context.refuse(
                origin, "has a secret, and token_endpoint_auth_method: \(method.rawValue)",
                "remove the one or the other")
            return nil
        }
        guard method == .selfSignedTLSClientAuth else { return .tlsClientAuth(clientTLS) }
        guard clientTLS.certificate.isPublishable else {
            context.refuse(
                origin, "has a self-signed certificate whose key is not RSA of 2048 to 8192 bits, P-256 or Ed25519",
                "make one with such a key: the provider knows it by /.well-known/jwks.json")
            return nil
        }
        return .selfSignedTLSClientAuth(clientTLS)
    }

    private func authentication(
        _ context: inout ReadingContext, _ secretRemedy: String, hasIDTokens: Bool,
        assertionAudience audience: ClientAssertionAudience
    ) -> ClientAuthentication? {
        if secretIssuer != nil || secretAudience != nil { return signedSecret(&context) }
        let hasNone = method == nil && secret == nil && privateKey == nil && clientTLS == nil && !hasIDTokens
        if method == .publicClient || hasNone { return publicClient(&context, hasIDTokens: hasIDTokens) }
        let method = method ?? usualMethod
        if method.usesMutualTLS { return mutualTLS(method, &context) }
        if method == .privateKeyJWT {
            guard let key = namedKey else {
                context.refuse(
                    origin, "has no private_key", "give it or private_key_file, or another way to authenticate")
                return nil
            }
            return .privateKeyJWT(key, audience: assertionAudience ?? audience)
        }
        guard let secret else {
            context.refuse(origin, "has no secret", secretRemedy)
            return nil
        }
        guard method == .clientSecretBasic else { return .clientSecretPost(secret) }
        return .clientSecretBasic(secret, encoding: basicEncoding ?? .formURLEncoded)
    }
}

extension ClientDraft {
    /// Whether `client_types` fits `redirect_uris`.
    private func hasFittingClientTypes(_ context: inout ReadingContext) -> Bool {
        for (uri, types) in clientTypes.sorted(by: { $0.key < $1.key }) {
            guard redirectURIs.contains(uri) else {
                context.refuse(
                    origin, "has client_types for a redirect URI that its redirect_uris do not list",
                    "add \(uri) to redirect_uris, or remove it from client_types")
                return false
            }
            guard !types.isEmpty else {
                context.refuse(origin, "has no client_types for \(uri)", "list at least one, or remove the entry")
                return false
            }
            guard !types.contains(.popup) || AppRedirectURI.origin(of: uri) != nil else {
                context.refuse(
                    origin, "has the client type popup for \(uri), which has no origin to post to",
                    "remove popup, or use an https redirect URI")
                return false
            }
        }
        return true
    }

    /// Whether `client_secret_basic_encoding` fits the client's way to authenticate and its id.
    private func hasFittingEncoding(
        _ id: ClientID, _ authentication: ClientAuthentication, _ context: inout ReadingContext
    ) -> Bool {
        guard let basicEncoding else { return true }
        guard case .clientSecretBasic = authentication else {
            context.refuse(
                origin, "has client_secret_basic_encoding, and does not use client_secret_basic",
                "remove it, or set token_endpoint_auth_method to client_secret_basic")
            return false
        }
        guard basicEncoding == .formURLEncoded || !id.text.utf8.contains(UInt8(ascii: ":")) else {
            context.refuse(
                origin, "has client_secret_basic_encoding: plain, and a colon in its id, which would end the id",
                "use client_secret_post if the provider has it")
            return false
        }
        return true
    }

    /// Whether the algorithms of the private keys fit their types.
    private func hasFittingAlgorithms(_ context: inout ReadingContext) -> Bool {
        for (name, key, algorithm) in [
            ("private_key", privateKey, privateKeyAlgorithm),
            ("other_private_key", otherPrivateKey, otherPrivateKeyAlgorithm),
        ] {
            guard let algorithm else { continue }
            guard let key else {
                context.refuse(origin, "has \(name)_alg, but no \(name)", "give it or \(name)_file")
                return false
            }
            guard key.signing(with: algorithm) != nil else {
                context.refuse(
                    origin, "has \(name)_alg: \(algorithm.rawValue), which its \(name) cannot sign with",
                    "remove it, or give a key of its type")
                return false
            }
        }
        return true
    }

    /// How ID tokens are encrypted, if they are.
    private var idTokenDecryption: IDTokenDecryption? {
        guard idTokenKeyManagement != nil, let key = Self.named(decryptionKey, decryptionKeyID) else { return nil }
        return IDTokenDecryption(
            key: key, otherKey: Self.named(otherDecryptionKey, otherDecryptionKeyID),
            encryption: idTokenEncryption ?? .a256GCM)
    }

    private static func named(_ key: DecryptionKey?, _ id: String?) -> DecryptionKey? {
        guard let key, let id else { return key }
        return key.named(id)
    }

    /// Whether the settings of encrypted ID tokens fit each other.
    private func hasFittingDecryption(_ context: inout ReadingContext, hasIDTokens: Bool) -> Bool {
        let settings: [(name: String, isGiven: Bool)] = [
            ("id_token_encrypted_response_alg", idTokenKeyManagement != nil),
            ("id_token_encrypted_response_enc", idTokenEncryption != nil), ("decryption_key", decryptionKey != nil),
            ("decryption_key_id", decryptionKeyID != nil), ("other_decryption_key", otherDecryptionKey != nil),
            ("other_decryption_key_id", otherDecryptionKeyID != nil),
        ]
        guard let given = settings.first(where: \.isGiven) else { return true }
        guard hasIDTokens else {
            context.refuse(origin, "has \(given.name), but its provider has no ID tokens", "remove it")
            return false
        }
        guard let algorithm = idTokenKeyManagement else {
            context.refuse(
                origin, "has \(given.name), but no id_token_encrypted_response_alg",
                "give it as the client is registered, or remove the settings of encryption")
            return false
        }
        guard let decryptionKey else {
            context.refuse(
                origin, "has id_token_encrypted_response_alg, but no decryption_key",
                "give it or decryption_key_file, or remove the algorithm")
            return false
        }
        guard otherDecryptionKey != nil || otherDecryptionKeyID == nil else {
            context.refuse(
                origin, "has other_decryption_key_id, but no other_decryption_key",
                "give it or other_decryption_key_file")
            return false
        }
        for (name, key) in [("decryption_key", decryptionKey), ("other_decryption_key", otherDecryptionKey)] {
            guard let key, key.algorithm != algorithm else { continue }
            context.refuse(
                origin, "has id_token_encrypted_response_alg: \(algorithm.rawValue), which its \(name) is not for",
                "make it \(key.algorithm.rawValue), or give a key of its type")
            return false
        }
        guard let idTokenDecryption, idTokenDecryption.key.keyID != idTokenDecryption.otherKey?.keyID else {
            context.refuse(
                origin, "has one kid for decryption_key and other_decryption_key",
                "give two different keys, each with its own kid")
            return false
        }
        return true
    }

    /// Whether `other_private_key` fits the client's own key.
    private func hasFittingKeys(_ authentication: ClientAuthentication, _ context: inout ReadingContext) -> Bool {
        guard let other = otherNamedKey else {
            guard otherPrivateKeyID == nil else {
                context.refuse(
                    origin, "has other_private_key_id, but no other_private_key", "give it or other_private_key_file")
                return false
            }
            return true
        }
        if case .signedClientSecret = authentication {
            context.refuse(
                origin, "has other_private_key, but the key of a signed_secret is not published", "remove it")
            return false
        }
        guard let key = namedKey else {
            context.refuse(origin, "has other_private_key, but no private_key", "rename it to private_key")
            return false
        }
        guard key.keyID != other.keyID else {
            context.refuse(
                origin, "has one kid for private_key and other_private_key",
                "give two different keys, each with its own kid")
            return false
        }
        return true
    }

    /// A client without a credential. PKCE then is what keeps a stolen code from being redeemed.
    private func publicClient(_ context: inout ReadingContext, hasIDTokens: Bool) -> ClientAuthentication? {
        guard !hasIDTokens else {
            context.refuse(
                origin, "has token_endpoint_auth_method: none, which is for providers of kind oauth2",
                "give its secret or private_key")
            return nil
        }
        guard secret == nil, privateKey == nil else {
            context.refuse(
                origin, "has a secret or a key, and token_endpoint_auth_method: none", "remove the one or the other")
            return nil
        }
        guard pkce == .required else {
            context.refuse(
                origin, "has neither a secret nor PKCE, so that anyone could redeem its codes", "remove pkce: optional")
            return nil
        }
        if method == nil {
            context.warn(
                origin, "has no secret, so that it is a public client, protected by PKCE alone",
                "give its secret; or write token_endpoint_auth_method: none if the provider issued none")
        }
        return .publicClient
    }

    private func signedSecret(_ context: inout ReadingContext) -> ClientAuthentication? {
        guard let secretIssuer, let secretAudience, let key = namedKey else {
            context.refuse(
                origin, "lacks a part of its signed_secret",
                "give its issuer and audience, and private_key or private_key_file")
            return nil
        }
        guard secret == nil, method == nil || method == .clientSecretPost else {
            context.refuse(
                origin, "has a signed_secret and another way to authenticate",
                "remove secret and token_endpoint_auth_method, or signed_secret")
            return nil
        }
        return .signedClientSecret(SignedClientSecret(issuer: secretIssuer, audience: secretAudience.text, key: key))
    }

    /// Reads a list of clients, or `id:secret` pairs, which replace the secrets of the known clients. Nil after
    /// reporting that it is neither.
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
            draft.scopesOrigin = SettingsReader.read(entries, settings, into: &draft, &context)["scopes"]?.origin
        case .text(let text): draft = readPair(text, item, known, &context)
        case .list, .empty:
            draft = ClientDraft()
            context.refuse(item.origin, "is \(item.kind)", "give id, secret and the client's other keys")
        }
        draft.isBroken = context.problems.count != before.count
        return draft
    }

    /// Reads `id:secret`; the rest comes from the known client of that id.
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
