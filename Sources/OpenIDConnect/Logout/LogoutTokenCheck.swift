public import Primitives

/// The checks a logout token must pass (Back-Channel Logout section 2.6), in the order in which they are made: those
/// that need no keys come first. The raw values are stable names for error responses and logs.
public enum LogoutTokenCheck: String, TokenCheck, CaseIterable {
    case format
    case criticalHeader = "critical_header"
    case type
    case algorithm
    case claims
    case issuer
    case audience
    case issuedAt = "issued_at"
    case expiry
    case notBefore = "not_before"
    case tokenID = "jti"
    case event
    case nonce
    case subject
    case key
    case signature

    public var demand: String {
        switch self {
        case .format: "The logout token must be a signed JWT in compact form, of at most the allowed size."
        case .criticalHeader: "The logout token's header must not contain crit or b64."
        case .type: "The logout token's typ must be logout+jwt, JWT or absent."
        case .algorithm: "The logout token must be signed with an allowed algorithm."
        case .claims: "The logout token's claims must be a JSON object without duplicate names."
        case .issuer: "The logout token's iss must be this provider's issuer."
        case .audience: "The logout token's aud must be one of this provider's clients alone."
        case .issuedAt: "The logout token was issued too long ago, or in the future, or has no valid iat."
        case .expiry: "The logout token has expired, or its exp is not valid."
        case .notBefore: "The logout token is not valid yet, or its nbf is not valid."
        case .tokenID: "The logout token must have a jti of 1 to 255 visible ASCII characters."
        case .event: "The logout token's events must contain the back-channel logout event, as an object."
        case .nonce: "The logout token must not have a nonce."
        case .subject: "The logout token must have a sub of 1 to 255 or a sid of 1 to 1024 visible ASCII characters."
        case .key: "The logout token must be signed with one of the provider's current signing keys."
        case .signature: "The logout token's signature does not verify."
        }
    }
}

/// A logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4) that has passed every check: the provider
/// reports that one session, or all of a user's sessions, have ended.
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct LogoutToken: Sendable, Hashable {
    /// The member of `events` that makes a token a logout token.
    package static let event = "http://schemas.openid.net/event/backchannel-logout"

    public let issuer: String
    /// The user whose sessions have ended; nil if only ``sessionID`` names the session.
    public let subject: String?
    /// The provider's id of the session that has ended; nil for all sessions of the subject.
    public let sessionID: String?
    /// The `jti`, unique within the issuer: the token is valid once.
    public let id: String
    /// From then on the token is refused for its age.
    public let refusedFrom: Timestamp
}

extension LogoutToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }
