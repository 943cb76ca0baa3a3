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
    /// What the user would call the device; nil if it is not known.
    public let device: String?

    public init(
        id: String, tokenHash: TokenHash, refreshTokenHash: TokenHash, clientID: String, createdAt: Timestamp,
        expiresAt: Timestamp, refreshExpiresAt: Timestamp, device: String? = nil
    ) {
        self.id = id
        self.tokenHash = tokenHash
        self.refreshTokenHash = refreshTokenHash
        self.clientID = clientID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.refreshExpiresAt = refreshExpiresAt
        self.device = device
    }
}

/// A session as its user sees it among others.
public struct SessionSummary: Sendable, Hashable {
    public let id: String
    public let clientID: String
    public let device: String?
    public let createdAt: Timestamp
    /// To some minutes.
    public let lastSeenAt: Timestamp
    /// When it ends unless it is refreshed before.
    public let expiresAt: Timestamp

    public init(
        id: String, clientID: String, device: String?, createdAt: Timestamp, lastSeenAt: Timestamp, expiresAt: Timestamp
    ) {
        self.id = id
        self.clientID = clientID
        self.device = device
        self.createdAt = createdAt
        self.lastSeenAt = lastSeenAt
        self.expiresAt = expiresAt
    }
}

/// Says when a session was last used.
public struct SessionLastSeen: Sendable, Hashable {
    public let sessionID: String
    public let userID: UserID
    public let time: Timestamp

    public init(sessionID: String, userID: UserID, time: Timestamp) {
        self.sessionID = sessionID
        self.userID = userID
        self.time = time
    }
}

public struct SessionAndUser: Sendable, Hashable {
    public let session: Session
    public let user: User

    public init(session: Session, user: User) {
        self.session = session
        self.user = user
    }
}
