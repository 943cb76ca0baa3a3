public import Primitives

/// A session on record.
public struct Session: Sendable, Hashable {
    /// Random, not secret: names the session to its user and in audit records.
    public let id: String
    public let userID: UserID
    /// The OAuth client that signed in.
    public let clientID: String
    public let createdAt: Timestamp
    /// When the session token ends.
    public let expiresAt: Timestamp

    public init(id: String, userID: UserID, clientID: String, createdAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.userID = userID
        self.clientID = clientID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// A session about to be stored, for a user who is known or comes to be with it.
public struct NewSession: Sendable, Hashable {
    public let id: String
    public let tokenHash: TokenHash
    public let refreshTokenHash: TokenHash
    public let clientID: String
    public let createdAt: Timestamp
    public let expiresAt: Timestamp
    public let refreshExpiresAt: Timestamp

    public init(
        id: String, tokenHash: TokenHash, refreshTokenHash: TokenHash, clientID: String, createdAt: Timestamp,
        expiresAt: Timestamp, refreshExpiresAt: Timestamp
    ) {
        self.id = id
        self.tokenHash = tokenHash
        self.refreshTokenHash = refreshTokenHash
        self.clientID = clientID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.refreshExpiresAt = refreshExpiresAt
    }
}
