public import Primitives

/// The checks a signed authorization response must pass (JARM section 2.4), in the order in which they are made: those
/// that need no keys come first. The raw values are stable names for error responses and logs.
public enum AuthorizationResponseCheck: String, TokenCheck, CaseIterable {
    case format
    case criticalHeader = "critical_header"
    case type
    case algorithm
    case claims
    case issuer
    case audience
    case expiry
    case notBefore = "not_before"
    case kind
    case state
    case outcome
    case key
    case signature

    public var demand: String {
        switch self {
        case .format: "The authorization response must be a signed JWT in compact form, of at most the allowed size."
        case .criticalHeader: "The authorization response's header must not contain crit or b64."
        case .type: "The authorization response's typ must be JWT or absent."
        case .algorithm:
            "The authorization response must be signed with the client's authorization_signed_response_alg."
        case .claims: "The authorization response's claims must be a JSON object without duplicate names."
        case .issuer: "The authorization response's iss must be this provider's issuer."
        case .audience: "The authorization response's aud must be one of this provider's clients alone."
        case .expiry: "The authorization response has expired, or has no valid exp, or one too far in the future."
        case .notBefore: "The authorization response is not valid yet, or its nbf is not valid."
        case .kind: "The authorization response must have none of sub, nonce and events, which other tokens have."
        case .state: "The authorization response must have a state of 1 to 256 visible ASCII characters."
        case .outcome: "The authorization response must have a valid code or error."
        case .key: "The authorization response must be signed with one of the provider's current signing keys."
        case .signature: "The authorization response's signature does not verify."
        }
    }
}

/// A signed authorization response (JWT Secured Authorization Response Mode, JARM) that has passed every check. Only
/// this module can make one.
///
/// It prints and reflects as the issuer alone.
public struct VerifiedAuthorizationResponse: Sendable {
    /// What the provider answered.
    public enum Outcome: Sendable {
        /// An authorization code, of 1 to 16,384 characters.
        case code(Secret)
        /// An error code (RFC 6749 section 4.1.2.1), of 1 to 256 visible ASCII characters and spaces.
        case error(String)
    }

    public let issuer: String
    public let clientID: ClientID
    /// The `state` of the request, of 1 to 256 visible ASCII characters.
    public let state: Secret
    /// A code or an error.
    public let outcome: Outcome
}

extension VerifiedAuthorizationResponse: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
