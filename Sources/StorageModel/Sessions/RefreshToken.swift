public import Primitives

/// What the store knows a refresh token by.
public struct RefreshTokenHashes: Sendable, Hashable {
    public let token: TokenHash
    /// Of what all the refresh tokens of a session have in common from the first exchange on. It tells a spent one from an
    /// unknown one, however many came after it.
    public let family: TokenHash

    public init(token: TokenHash, family: TokenHash) {
        self.token = token
        self.family = family
    }
}

/// What a refresh token is worth.
public enum RefreshTokenState: Sendable, Hashable {
    /// The session's present one: may be exchanged.
    case live(SessionAndUser)
    /// The one before, exchanged so lately that the same exchange may be answered once more.
    case justSpent(SessionAndUser, LastRotation)
    /// Exchanged before: two hold what only one should.
    case spent(SessionAndUser)
    /// Unknown, expired, or of a session that has ended.
    case unknown
}

/// What answering a rotation once more takes.
public struct LastRotation: Sendable, Hashable {
    /// With the presented token, it makes the tokens that came in its place.
    public let salt: [UInt8]
    /// Stands for who asked for the rotation.
    public let caller: TokenHash

    public init(salt: [UInt8], caller: TokenHash) {
        self.salt = salt
        self.caller = caller
    }
}

/// New tokens for a session, in exchange for its refresh token.
public struct RefreshTokenRotation: Sendable, Hashable {
    /// The tokens that come.
    public struct Successor: Sendable, Hashable {
        public let tokenHash: TokenHash
        public let refreshTokenHash: TokenHash
        public let expiresAt: Timestamp
        public let refreshExpiresAt: Timestamp

        public init(
            tokenHash: TokenHash, refreshTokenHash: TokenHash, expiresAt: Timestamp, refreshExpiresAt: Timestamp
        ) {
            self.tokenHash = tokenHash
            self.refreshTokenHash = refreshTokenHash
            self.expiresAt = expiresAt
            self.refreshExpiresAt = refreshExpiresAt
        }
    }

    /// The refresh token that goes.
    public let presented: RefreshTokenHashes
    public let successor: Successor
    public let last: LastRotation
    /// Until when the same exchange may be answered once more, and the session token that goes is still taken.
    public let graceEndsAt: Timestamp

    public init(presented: RefreshTokenHashes, successor: Successor, last: LastRotation, graceEndsAt: Timestamp) {
        self.presented = presented
        self.successor = successor
        self.last = last
        self.graceEndsAt = graceEndsAt
    }
}
