public import Primitives

/// An identity to be added to the user who holds a session.
public struct IdentityLink: Sendable {
    public let identity: Identity
    /// The session that asks; it must still stand.
    public let session: TokenHash
    public let user: UserID
    public let time: Timestamp
    /// How many identities a user has at most.
    public let limit: Int
    /// For the audit record.
    public let requestID: String?
    /// The provider's tokens, where they are kept. They replace none: the same link may come twice.
    public let tokens: NewProviderTokens?

    public init(
        _ identity: Identity, to user: UserID, holding session: TokenHash, at time: Timestamp, limit: Int,
        requestID: String?, tokens: NewProviderTokens? = nil
    ) {
        self.tokens = tokens
        self.identity = identity
        self.user = user
        self.session = session
        self.time = time
        self.limit = limit
        self.requestID = requestID
    }
}

public enum IdentityLinking: Sendable, Hashable {
    case linked(LinkedIdentity)
    /// It is the user's already; nothing was changed.
    case wasLinked(LinkedIdentity)
    /// It is another user's, or an account was moved away from it.
    case isTaken
    /// The user has as many as one may have.
    case tooMany
    /// The session was revoked or expired, or its user erased.
    case unknownSession
}

extension AuditEvent.Kind {
    /// A user added a way to sign in.
    public static let identityLinked = AuditEvent.Kind("identity.linked")
    /// A user tried to add an identity that is another's.
    public static let identityLinkRefused = AuditEvent.Kind("identity.link_refused")
}
