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
    /// Gives a session the origin of another one.
    static func copyOrigin(from earlier: String, to id: String, of user: UserID, in db: SQLSession) throws {
        var statement = try CachedStatement(db, copyOrigin)
        statement.bind(user.number)
        statement.bind(earlier)
        statement.bind(id)
        try statement.run()
    }

    private static let copyOrigin = """
        UPDATE sessions SET (identity_hash, provider_session_hash) = \
        (SELECT identity_hash, provider_session_hash FROM sessions WHERE user_id = ?1 AND id = ?2) \
        WHERE user_id = ?1 AND id = ?3
        """
}
