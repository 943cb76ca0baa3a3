public import Primitives

/// How we prove at a token endpoint who we are (OpenID Connect Core section 9).
public enum ClientAuthentication: Sendable, Hashable {
    /// HTTP Basic with client id and secret, each form-urlencoded first (RFC 6749 section 2.3.1).
    case clientSecretBasic(Secret)
}

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
