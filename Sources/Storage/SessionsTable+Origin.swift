import Crypto
import Primitives

/// Where sessions come from: the identity that signed in, and the session at its provider, each as half of a SHA-256.
///
/// The subject stands in `identities` and nowhere else, and the provider's session id nowhere.
enum SessionOrigins {
    static let schema = """
        ALTER TABLE sessions ADD COLUMN identity_hash BLOB;
        ALTER TABLE sessions ADD COLUMN provider_session_hash BLOB;
        ALTER TABLE pending_registrations ADD COLUMN provider_session_hash BLOB;
        CREATE INDEX sessions_by_provider_session ON sessions (provider_session_hash)
        WHERE provider_session_hash IS NOT NULL;
        CREATE TABLE logout_tokens (
            token_hash BLOB PRIMARY KEY NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX logout_tokens_by_expiry ON logout_tokens (expires_at);
        """

    static func hash(_ identity: Identity) -> [UInt8] { hash("identity", identity.issuer, identity.subject) }

    static func hash(_ session: ProviderSession) -> [UInt8] { hash("session", session.issuer, session.id) }

    private static func hash(_ texts: String...) -> [UInt8] {
        var hash = SHA256()
        for text in texts {
            hash.update(data: Array(text.utf8))
            hash.update(data: [0])
        }
        return Array(hash.finalize().prefix(16))
    }
}

extension SessionsTable {
    /// Ends what a provider says to be over; how many sessions there were, by user.
    static func end(_ scope: ProviderLogout.Scope, in db: SQLSession) throws -> [UserID: Int] {
        switch scope {
        case .identity(let identity):
            try PendingRegistrationsTable.delete(of: identity, in: db)
            // Found by the user, so that sign-ins need no further index.
            guard let user = try UsersTable.user(identity, in: db)?.id else { return [:] }
            let count = try deleteAll(of: user, signedInBy: identity, except: nil, in: db)
            return count == 0 ? [:] : [user: count]
        case .session(let session, let identity):
            try PendingRegistrationsTable.delete(signedInBy: session, of: identity, in: db)
            return try end(session, of: identity, in: db)
        }
    }

    private static func end(
        _ session: ProviderSession, of identity: Identity?, in db: SQLSession
    ) throws -> [UserID: Int] {
        var statement = try CachedStatement(db, deleteByProviderSession)
        statement.bind(blob: SessionOrigins.hash(session))
        statement.bind(identity == nil ? 1 : 0)
        statement.bind(blob: identity.map(SessionOrigins.hash) ?? [])
        var counts: [UserID: Int] = [:]
        while try statement.next() { counts[UserID(statement.number(0)), default: 0] += 1 }
        return counts
    }

    /// Ends the sessions of a user that an identity signed in, but one; returns how many there were.
    static func deleteAll(
        of user: UserID, signedInBy identity: Identity, except id: String?, in db: SQLSession
    ) throws -> Int {
        var statement = try CachedStatement(db, deleteByIdentity)
        statement.bind(user.number)
        statement.bind(blob: SessionOrigins.hash(identity))
        statement.bind(id ?? "")
        try statement.run()
        return db.changesCount
    }

    /// Gives a session the origin of another one.
    static func copyOrigin(from earlier: String, to id: String, of user: UserID, in db: SQLSession) throws {
        var statement = try CachedStatement(db, copyOrigin)
        statement.bind(user.number)
        statement.bind(earlier)
        statement.bind(id)
        try statement.run()
    }

    private static let deleteByProviderSession = """
        DELETE FROM sessions WHERE provider_session_hash = ?1 AND (?2 = 1 OR identity_hash = ?3) RETURNING user_id
        """
    private static let deleteByIdentity = "DELETE FROM sessions WHERE user_id = ? AND identity_hash = ? AND id <> ?"
    private static let copyOrigin = """
        UPDATE sessions SET (identity_hash, provider_session_hash) = \
        (SELECT identity_hash, provider_session_hash FROM sessions WHERE user_id = ?1 AND id = ?2) \
        WHERE user_id = ?1 AND id = ?3
        """
}
