public import Primitives

/// A client registered with a provider, and its authentication.
public struct ClientCredentials: Sendable, Hashable {
    /// The client.
    public let clientID: ClientID
    /// How it authenticates.
    public let authentication: ClientAuthentication

    /// A client with its authentication.
    public init(clientID: ClientID, authentication: ClientAuthentication) {
        self.clientID = clientID
        self.authentication = authentication
    }

    /// A client with `client_secret_basic`.
    public init(clientID: ClientID, clientSecret: Secret) {
        self.init(clientID: clientID, authentication: .clientSecretBasic(clientSecret))
    }
}
