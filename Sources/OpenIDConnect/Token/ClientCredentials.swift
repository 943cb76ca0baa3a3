public import Primitives

/// A client registered with a provider, and what proves that we are it.
public struct ClientCredentials: Sendable, Hashable {
    public let clientID: ClientID
    public let authentication: ClientAuthentication

    public init(clientID: ClientID, authentication: ClientAuthentication) {
        self.clientID = clientID
        self.authentication = authentication
    }

    public init(clientID: ClientID, clientSecret: Secret) {
        self.init(clientID: clientID, authentication: .clientSecretBasic(clientSecret))
    }
}
