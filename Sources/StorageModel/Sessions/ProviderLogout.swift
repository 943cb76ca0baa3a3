import Crypto
package import Primitives

/// A provider's logout token: the sessions to end.
package struct ProviderLogout: Sendable {
    package enum Scope: Sendable, Hashable {
        /// All sessions that this identity signed in.
        case identity(Identity)
        /// The sessions of one session at the provider; with an identity, only those of that identity.
        case session(ProviderSession, of: Identity?)
    }

    package let scope: Scope
    /// The hash of the logout token's id, which is valid once.
    package let token: TokenHash
    /// When the hash may be forgotten.
    package let expiresAt: Timestamp
    package let time: Timestamp
    package let requestID: String?

    package init(_ scope: Scope, token: TokenHash, expiresAt: Timestamp, at time: Timestamp, requestID: String?) {
        self.scope = scope
        self.token = token
        self.expiresAt = expiresAt
        self.time = time
        self.requestID = requestID
    }
}

/// A session at a provider, by the provider's own id (the `sid` of its ID tokens).
package struct ProviderSession: Sendable, Hashable {
    package let issuer: String
    package let id: String

    package init(issuer: String, id: String) {
        self.issuer = issuer
        self.id = id
    }
}

/// Recognises a session at a provider without keeping its id: half of a SHA-256.
package struct ProviderSessionHash: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(_ session: ProviderSession) { bytes = OriginHash.of(session) }

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

    /// The hash of the session at the provider: 16 bytes.
    package static func of(_ session: ProviderSession) -> [UInt8] { hash("session", session.issuer, session.id) }

    private static func hash(_ texts: String...) -> [UInt8] {
        var hash = SHA256()
        for text in texts {
            text.withBytes { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
            withUnsafeBytes(of: UInt8(0)) { hash.update(bufferPointer: $0) }
        }
        return hash.finalize().withUnsafeBytes { Array($0.prefix(16)) }
    }
}

/// The result of a provider's logout.
package enum ProviderLogoutResult: Sendable, Hashable {
    /// How many sessions ended, by user.
    case done([UserID: Int])
    /// The token was used before; nothing was done.
    case replayed
}

extension AuditEvent.Kind {
    /// A provider ended sessions that it had signed in.
    package static let sessionsEndedByProvider = AuditEvent.Kind("session.ended_by_provider")
}
