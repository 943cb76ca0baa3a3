public import Primitives

/// A client registered with a provider, and its authentication.
public struct ClientCredentials: Sendable, Hashable {
    /// The client.
    public let clientID: ClientID
    /// How it authenticates.
    public let authentication: ClientAuthentication
    /// How its ID tokens are encrypted; nil if they are not.
    public let idTokenDecryption: ResponseDecryption?
    /// How its userinfo is encrypted; nil if it is not.
    public let userInfoDecryption: ResponseDecryption?
    /// The certificate that it authenticates with, or that its tokens can be bound to; nil if it has none.
    public let clientTLS: ClientTLS?

    /// A client with its authentication.
    /// - Parameter clientTLS: By default what it authenticates with, if that is a certificate.
    public init(
        clientID: ClientID, authentication: ClientAuthentication, idTokenDecryption: ResponseDecryption? = nil,
        userInfoDecryption: ResponseDecryption? = nil, clientTLS: ClientTLS? = nil
    ) {
        self.clientID = clientID
        self.authentication = authentication
        self.idTokenDecryption = idTokenDecryption
        self.userInfoDecryption = userInfoDecryption
        switch authentication {
        case .tlsClientAuth(let own), .selfSignedTLSClientAuth(let own): self.clientTLS = own
        case .clientSecretBasic, .clientSecretPost, .privateKeyJWT, .signedClientSecret, .publicClient:
            self.clientTLS = clientTLS
        }
    }

    /// The signed token in an ID token of the client, which is the ID token itself if encryption is not registered
    /// (OpenID Connect Core section 16.14: signed, then encrypted).
    /// - Throws: ``IDTokenCheck/encryption``.
    package func signedToken(in idToken: Secret, rules: IDTokenRules) throws(OIDCError) -> Secret {
        guard let idTokenDecryption else { return idToken }
        guard let signed = idTokenDecryption.content(of: idToken, maximumBytes: rules.maximumBytes) else {
            throw .failed(.encryption)
        }
        return signed
    }
}

/// A client identifier (RFC 6749 section 2.2): 1 to 255 printable ASCII characters (VSCHAR).
public struct ClientID: Sendable, Hashable, CustomStringConvertible {
    /// The identifier.
    public let text: String

    /// An identifier, or nil if it is empty, too long, or has a character that RFC 6749 appendix A.1 does not allow.
    public init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy(\.isPrintableASCII) else {
            return nil
        }
        self.text = text
    }

    public var description: String { text }
}
