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
    var userInfoKeyManagement: KeyManagementAlgorithm?
    var userInfoEncryption: ContentEncryption?
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
        guard hasFittingTokens(&context, hasIDTokens: hasIDTokens) else { return nil }
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
        return client(id, authentication, hasIDTokens: hasIDTokens)
    }

    private func client(
        _ id: ClientID, _ authentication: ClientAuthentication, hasIDTokens: Bool
    ) -> Configuration.Client {
        var client = Configuration.Client(id: id, authentication: authentication)
        client.idTokenDecryption = decryption(idTokenKeyManagement, idTokenEncryption)
        client.userInfoDecryption = decryption(userInfoKeyManagement, userInfoEncryption)
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

    /// Whether the client requests of ID tokens what its provider can give.
    private func hasFittingTokens(_ context: inout ReadingContext, hasIDTokens: Bool) -> Bool {
        guard !hasIDTokens else {
            guard scopes.contains("openid") else {
                context.beneath(".scopes") { $0.refuse(scopesOrigin ?? .none, "openid is missing", "add openid") }
                return false
            }
            return true
        }
        guard nonce == .client else {
            context.refuse(
                origin, "has nonce: issued, but there is no ID token that could carry it", "remove nonce")
            return false
        }
        let algorithms = [
            ("id_token_signed_response_alg", idTokenSigningAlgorithm),
            ("userinfo_signed_response_alg", userInfoSigningAlgorithm),
            ("authorization_signed_response_alg", responseSigningAlgorithm),
        ]
        guard let name = algorithms.first(where: { $0.1 != nil })?.0 else { return true }
        context.refuse(origin, "has \(name), but its provider has no ID tokens", "remove it")
        return false
    }

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
}
