public import Primitives

/// Identifies a retry of the same sign-in, and says how long its result is kept.
public struct IdempotencyRecord: Sendable, Hashable {
    /// A hash of every field that decides the outcome; 16 bytes.
    public let key: [UInt8]
    /// When the record ends.
    public let endsAt: Timestamp
    /// How often sessions of its user have been ended if nothing has happened since the provider vouched for the user; nil
    /// where that cannot be told. Another number keeps the sign-in from giving a session.
    public let endings: Int64?

    public init(key: [UInt8], endsAt: Timestamp, endings: Int64? = nil) {
        self.key = key
        self.endsAt = endsAt
        self.endings = endings
    }
}

/// A session that a sign-in gave: as long as it stands, and no other session of its user has been ended since, the very
/// same sign-in sent again gets one more.
public struct GivenSession: Sendable, Hashable {
    public let id: String
    public let user: UserID
    /// How often sessions of the user had been ended before.
    package let endings: Int64

    package init(id: String, user: UserID, endings: Int64) {
        self.id = id
        self.user = user
        self.endings = endings
    }
}

/// A sign-in that was done a moment ago, in this process or in another.
public struct RecentSignIn: Sendable, Hashable {
    public let session: GivenSession
    /// From when on it is not known any more.
    public let endsAt: Timestamp

    package init(session: GivenSession, endsAt: Timestamp) {
        self.session = session
        self.endsAt = endsAt
    }
}

/// Whether a user got one more session.
public enum SessionAddition: Sendable, Hashable {
    case added(User)
    /// The earlier one has ended, or another one since: no session was made.
    case earlierEnded
    case unknownUser
}
