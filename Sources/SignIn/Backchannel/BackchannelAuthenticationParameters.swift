public import OpenIDConnect
public import Primitives

/// A sign-in that a client wants this server to start at the user's carrier.
public struct BackchannelAuthenticationParameters: Sendable {
    /// The provider's name in ``SignInConfiguration/providers``.
    public var provider: String
    public var clientID: ClientID
    /// The user's phone number, or the carrier's subject for the user.
    public var loginHint: Secret
    public var scopes: [String]
    public var network: MCCMNC
    public var redirectURI: String
    public var acrValues: [String] = []
    /// The text the user is asked to approve.
    public var context: String?
    public var prompt: [String] = []
    public var options: String?
    /// The client's id for this sign-in; a random one if nil.
    public var correlationID: CorrelationID?

    public init(
        provider: String, clientID: ClientID, loginHint: Secret, scopes: [String], network: MCCMNC, redirectURI: String
    ) {
        self.provider = provider
        self.clientID = clientID
        self.loginHint = loginHint
        self.scopes = scopes
        self.network = network
        self.redirectURI = redirectURI
    }
}

/// A server-initiated sign-in that a carrier has accepted.
public struct BackchannelAuthenticationStarted: Sendable {
    /// Identifies the sign-in for the client that started it (`auth_req_id`).
    public let handle: Secret
    /// Seconds within which the user may approve.
    public let expiresIn: Int64
    public let correlationID: CorrelationID
}

/// The status of a server-initiated sign-in, as a poll returns it.
public enum BackchannelAuthenticationProgress: Sendable {
    case waiting
    case ended(SignInOutcome)
}
