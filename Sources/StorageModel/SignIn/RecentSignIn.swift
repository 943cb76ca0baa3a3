package import Primitives

/// Identifies a retry of the same sign-in, and says how long its result is kept.
package struct IdempotencyRecord: Sendable, Hashable {
    /// A hash of every field that decides the outcome; 16 bytes.
    package let key: [UInt8]
    /// When the record ends.
    package let endsAt: Timestamp
    /// The number of the user's ended sessions at the time of the provider's response; nil if unknown. If the user has
    /// another number by now, the sign-in gives no session.
    package let endings: Int64?

    package init(key: [UInt8], endsAt: Timestamp, endings: Int64? = nil) {
        self.key = key
        self.endsAt = endsAt
        self.endings = endings
    }
}

/// The result of a sign-in of the last minute.
package struct RecentSignIn: Sendable, Hashable {
    /// Of its ``IdempotencyRecord``.
    package let key: [UInt8]
    package let session: GivenSession
    /// When the record ends.
    package let endsAt: Timestamp

    package init(key: [UInt8], session: GivenSession, endsAt: Timestamp) {
        self.key = key
        self.session = session
        self.endsAt = endsAt
    }
}

/// A session that a sign-in gave: a retry of the sign-in gives one more, as long as this session lives and no session
/// of the user was ended.
package struct GivenSession: Sendable, Hashable {
    package let id: String
    package let user: UserID
    /// How often sessions of the user had been ended at that time.
    package let endings: Int64

    package init(id: String, user: UserID, endings: Int64) {
        self.id = id
        self.user = user
        self.endings = endings
    }
}

/// The result of adding a session besides an earlier one.
package enum SessionAddition: Sendable, Hashable {
    /// `isNewUser`: the sign-in of the earlier session created the user.
    case added(User, isNewUser: Bool)
    /// The earlier session, or another one of the user, was ended: no session was made.
    case earlierEnded
    case unknownUser
}
