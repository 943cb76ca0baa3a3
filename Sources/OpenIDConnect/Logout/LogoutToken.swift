public import Primitives

/// A logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4) that has passed every check: the provider
/// reports that one session, or all of a user's sessions, have ended.
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct LogoutToken: Sendable, Hashable {
    /// The provider.
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
