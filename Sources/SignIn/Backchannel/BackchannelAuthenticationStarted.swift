package import OpenIDConnect
package import Primitives

/// A backchannel authentication that a provider has accepted.
package struct BackchannelAuthenticationStarted: Sendable {
    /// Identifies the sign-in for the client that started it (`auth_req_id`).
    package let handle: Secret
    /// Seconds within which the user may approve.
    package let expiresIn: Int64
    /// Seconds between two polls that can bring something new; nil if the outcome may come at any moment.
    package let interval: Int64?
    package let correlationID: CorrelationID
}
