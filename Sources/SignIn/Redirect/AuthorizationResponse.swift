public import OpenIDConnect
public import Primitives

/// What a browser brings back from the carrier or from the choice of one.
public struct AuthorizationResponse: Sendable {
    public var provider: String
    public var state: Secret?
    public var code: Secret?
    /// From the choice of a carrier.
    public var network: MCCMNC?
    /// From the choice of a carrier on a secondary device.
    public var loginHintToken: String?
    public var error: String?
    /// Who answers, if it says so (RFC 9207).
    public var issuer: String?

    public init(provider: String) {
        self.provider = provider
    }
}
