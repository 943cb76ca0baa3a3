public import Primitives

/// A signed authorization response (JWT Secured Authorization Response Mode, JARM) that has passed every check. Only
/// this module can make one.
///
/// It prints and reflects as the issuer alone.
public struct VerifiedAuthorizationResponse: Sendable {
    /// What the provider answered.
    public enum Outcome: Sendable {
        /// An authorization code, of 1 to 4096 characters.
        case code(Secret)
        /// An error code (RFC 6749 section 4.1.2.1), of 1 to 256 visible ASCII characters and spaces.
        case error(String)
    }

    /// The provider.
    public let issuer: String
    /// The client that the response is for.
    public let clientID: ClientID
    /// The `state` of the request, of 1 to 256 visible ASCII characters.
    public let state: Secret
    /// A code or an error.
    public let outcome: Outcome
}

extension VerifiedAuthorizationResponse: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
