public import Primitives

/// A logout token (OpenID Connect Back-Channel Logout 1.0 section 2.4) that has passed every check: the provider says that
/// a session, or all of a user's sessions, are over.
///
/// The subject is personal: neither `print` nor interpolation nor reflection shows it.
public struct LogoutToken: Sendable, Hashable {
    public let issuer: String
    /// Whose sessions are over; nil if only ``sessionID`` says which.
    public let subject: String?
    /// The provider's id of the session that is over; nil for all of the subject's.
    public let sessionID: String?
    /// Unique within the issuer: the token is good once.
    public let id: String
    /// When the token is worth nothing any more, whoever brings it.
    public let refusedFrom: Timestamp
}

extension LogoutToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "LogoutToken(issuer: \(issuer))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}
