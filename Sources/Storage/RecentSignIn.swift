public import Primitives

/// By what a sign-in is known again if the very same one is sent once more.
public struct SignInMark: Sendable, Hashable {
    /// Of all that has a say in the outcome; 16 bytes.
    public let fingerprint: [UInt8]
    /// From when on it is not known any more.
    public let endsAt: Timestamp

    public init(fingerprint: [UInt8], endsAt: Timestamp) {
        self.fingerprint = fingerprint
        self.endsAt = endsAt
    }
}

/// A session that a sign-in gave: as long as it stands, and no other session of its user has been ended since, the very
/// same sign-in sent again gets one more.
public struct GivenSession: Sendable, Hashable {
    public let id: String
    public let user: UserID
    /// How often sessions of the user had been ended before.
    let endings: Int64
}

/// A sign-in that was done a moment ago, in this process or in another.
public struct RecentSignIn: Sendable, Hashable {
    public let session: GivenSession
    /// From when on it is not known any more.
    public let endsAt: Timestamp
}
