import Crypto
package import Primitives

/// A stored session.
package struct Session: Sendable, Hashable {
    /// Random, not secret: identifies the session for its user and in audit events.
    package let id: String
    package let userID: UserID
    /// The OAuth client that signed in.
    package let clientID: String
    package let createdAt: Timestamp
    /// When the session token expires.
    package let expiresAt: Timestamp

    package init(id: String, userID: UserID, clientID: String, createdAt: Timestamp, expiresAt: Timestamp) {
        self.id = id
        self.userID = userID
        self.clientID = clientID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// The outcome of revoking a user's session by its id.
package enum SessionRevocation: Sendable, Hashable {
    case revoked
    /// The user has no session of this id.
    case unknownSession
    /// The session that asks does not exist any more; nothing was revoked.
    case askingSessionEnded
}

/// A session to store, for a known or a new user.
package struct NewSession: Sendable, Hashable {
    package let id: String
    package let tokenHash: TokenHash
    package let refreshTokenHash: TokenHash
    package let clientID: String
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package let refreshExpiresAt: Timestamp
    /// A readable name of the device; nil if unknown.
    package let device: String?
    /// The ID token of the sign-in, if it is kept for the logout at the provider.
    package var idToken: SealedIDToken?
    /// Whether the audit log records that it began.
    package var isAudited = false

    package init(
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

/// A session in its user's list.
package struct SessionSummary: Sendable, Hashable {
    package let id: String
    package let clientID: String
    package let device: String?
    package let createdAt: Timestamp
    /// Accurate to five minutes.
    package var lastSeenAt: Timestamp
    /// When it ends unless it is refreshed.
    package let expiresAt: Timestamp

    package init(
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

/// When a session was last seen.
package typealias SessionLastSeen = (sessionID: String, userID: UserID, time: Timestamp)

/// A session and its user: an object, which all requests of the session share while it is in memory.
public final class SessionAndUser: Sendable, Hashable {
    package let session: Session
    /// Whose session it is.
    public let user: User

    package init(session: Session, user: User) {
        self.session = session
        self.user = user
    }

    /// Two are equal if their values are.
    public static func == (one: SessionAndUser, other: SessionAndUser) -> Bool {
        one.session == other.session && one.user == other.user
    }

    /// Hashes the values.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(session)
        hasher.combine(user)
    }
}

/// The ID token of a session's sign-in, encrypted so that only the session's own tokens open it; the store has the
/// hashes of those alone, and cannot.
package struct SealedIDToken: Sendable, Hashable {
    /// The token under a key that every refresh token of the session derives.
    package let content: [UInt8]
    /// That key, under one that the session token derives.
    package let sessionKey: [UInt8]

    package init(content: [UInt8], sessionKey: [UInt8]) {
        self.content = content
        self.sessionKey = sessionKey
    }
}

/// Recognises a session at a provider without keeping its id: half of a SHA-256.
package struct ProviderSessionHash: Sendable, Hashable {
    package let bytes: [UInt8]

    /// - Parameter id: The provider's own, the `sid` of its ID tokens.
    package init(issuer: String, id: String) { bytes = OriginHash.hash("session", issuer, id) }

    /// From a database column; nil if it is NULL.
    package init?(stored bytes: [UInt8]) {
        guard !bytes.isEmpty else { return nil }
        self.bytes = bytes
    }
}

/// Identifies the origin of a session by half of a SHA-256, because subjects and providers' session ids are not stored
/// with it.
package enum OriginHash {
    /// The hash of the identity that signed in: 16 bytes.
    package static func of(_ identity: Identity) -> [UInt8] { hash("identity", identity.issuer, identity.subject) }

    fileprivate static func hash(_ texts: String...) -> [UInt8] {
        var hash = SHA256()
        for text in texts {
            text.withBytes { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
            withUnsafeBytes(of: UInt8(0)) { hash.update(bufferPointer: $0) }
        }
        return hash.finalize().withUnsafeBytes { Array($0.prefix(16)) }
    }
}
