package import OpenIDConnect
package import Primitives

/// The parameters that a browser brings back from the carrier or from carrier discovery.
package struct AuthorizationResponse: Sendable {
    package var provider: String
    package var state: Secret?
    package var code: Secret?
    /// From carrier discovery.
    package var network: MCCMNC?
    /// From carrier discovery on a secondary device.
    package var loginHintToken: String?
    package var error: String?
    /// The `iss` of the response, if it has one (RFC 9207).
    package var issuer: String?

    package init(provider: String) { self.provider = provider }
}
