public import Primitives

/// What a provider says to be over.
public struct ProviderLogout: Sendable {
    public enum Scope: Sendable, Hashable {
        /// All sessions that this identity signed in.
        case identity(Identity)
        /// Those of one session at the provider; with an identity, of that identity only.
        case session(ProviderSession, of: Identity?)
    }

    public let scope: Scope
    /// Stands for the logout token, which is good once.
    public let token: TokenHash
    /// Until when it is remembered.
    public let expiresAt: Timestamp
    public let time: Timestamp
    public let requestID: String?

    public init(_ scope: Scope, token: TokenHash, expiresAt: Timestamp, at time: Timestamp, requestID: String?) {
        self.scope = scope
        self.token = token
        self.expiresAt = expiresAt
        self.time = time
        self.requestID = requestID
    }
}

/// A session at a provider, by the provider's own id (the `sid` of its ID tokens).
public struct ProviderSession: Sendable, Hashable {
    public let issuer: String
    public let id: String

    public init(issuer: String, id: String) {
        self.issuer = issuer
        self.id = id
    }
}

/// Recognises a session at a provider without keeping its id: half of a SHA-256.
public struct ProviderSessionHash: Sendable, Hashable {
    package let bytes: [UInt8]

    public init(_ session: ProviderSession) {
        bytes = OriginHash.of(session)
    }

    /// As it stands in a table; nil for a column without one.
    package init?(stored bytes: [UInt8]) {
        guard !bytes.isEmpty else { return nil }
        self.bytes = bytes
    }
}

public enum ProviderLogoutResult: Sendable, Hashable {
    /// How many sessions ended, by their users.
    case done([UserID: Int])
    /// The token was used before; nothing was done.
    case replayed
}

extension AuditEvent.Kind {
    /// A provider ended sessions that it had signed in.
    public static let sessionsEndedByProvider = AuditEvent.Kind("session.ended_by_provider")
}
