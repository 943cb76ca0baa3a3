public import Primitives

/// A client registered with a provider, and its authentication.
public struct ClientCredentials: Sendable, Hashable {
    /// The client.
    public let clientID: ClientID
    /// How it authenticates.
    public let authentication: ClientAuthentication
    /// How its ID tokens are encrypted; nil if they are not.
    public let idTokenDecryption: IDTokenDecryption?

    /// A client with its authentication.
    public init(
        clientID: ClientID, authentication: ClientAuthentication, idTokenDecryption: IDTokenDecryption? = nil
    ) {
        self.clientID = clientID
        self.authentication = authentication
        self.idTokenDecryption = idTokenDecryption
    }

    /// The signed token in an ID token of the client, which is the ID token itself if encryption is not registered.
    /// - Throws: ``IDTokenCheck/encryption``.
    package func signedToken(in idToken: Secret, rules: IDTokenRules) throws(OIDCError) -> Secret {
        guard let idTokenDecryption else { return idToken }
        return try idTokenDecryption.open(idToken, maximumBytes: rules.maximumBytes)
    }

    /// A client with `client_secret_basic`.
    public init(clientID: ClientID, clientSecret: Secret) {
        self.init(clientID: clientID, authentication: .clientSecretBasic(clientSecret))
    }
}
