package import Primitives

/// The hashes by which the store recognises a refresh token.
package struct RefreshTokenHashes: Sendable, Hashable {
    package let token: TokenHash
    /// The hash of the part that all refresh tokens of a session share from the first exchange on. It tells a spent
    /// token from an unknown one, however many followed.
    package let family: TokenHash

    package init(token: TokenHash, family: TokenHash) {
        self.token = token
        self.family = family
    }
}

/// The state of a refresh token.
package enum RefreshTokenState: Sendable, Hashable {
    /// The session's present token: it may be exchanged.
    case live(SessionAndUser)
    /// The token before, whose successor is unused: the same exchange may be repeated.
    case justSpent(SessionAndUser, LastRotation)
    /// Exchanged before: reuse means that the token was copied.
    case spent(SessionAndUser)
    /// Unknown, expired, or of a session that has ended.
    case unknown
}

/// What a repeated response to a rotation needs.
package struct LastRotation: Sendable, Hashable {
    /// Derives the successor tokens from the presented token.
    package let salt: [UInt8]
    /// Identifies the caller of the rotation. Earlier versions repeat it for this caller only.
    package let caller: TokenHash

    package init(salt: [UInt8], caller: TokenHash) {
        self.salt = salt
        self.caller = caller
    }
}

/// New tokens for a session, in exchange for its refresh token.
package struct RefreshTokenRotation: Sendable, Hashable {
    /// The refresh token that is replaced.
    package let presented: RefreshTokenHashes
    package let tokenHash: TokenHash
    package let refreshTokenHash: TokenHash
    package let expiresAt: Timestamp
    package let refreshExpiresAt: Timestamp
    package let last: LastRotation
    /// Until when the replaced session token is still accepted.
    package let formerTokenEndsAt: Timestamp
    /// The key of the session's ID token for the new session token (``SealedIDToken/sessionKey``); nil for a client
    /// whose sessions have no ID tokens.
    package var idTokenKey: [UInt8]?

    package init(
        of presented: RefreshTokenHashes, tokenHash: TokenHash, refreshTokenHash: TokenHash, expiresAt: Timestamp,
        refreshExpiresAt: Timestamp, last: LastRotation, formerTokenEndsAt: Timestamp
    ) {
        self.presented = presented
        self.tokenHash = tokenHash
        self.refreshTokenHash = refreshTokenHash
        self.expiresAt = expiresAt
        self.refreshExpiresAt = refreshExpiresAt
        self.last = last
        self.formerTokenEndsAt = formerTokenEndsAt
    }
}
