import StorageModel

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
