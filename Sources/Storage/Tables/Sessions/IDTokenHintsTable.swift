import StorageModel

/// The table `id_token_hints`: the ID tokens of the sessions that may be signed out at their provider. The feature
/// of the sign-out reads them.
enum IDTokenHintsTable {
    // Beside `sessions`, whose rows stay narrow. Only redirect sign-ins at a provider with an end-session endpoint have
    // a row.
    static let schema = """
        CREATE TABLE id_token_hints (
            session INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (serial) ON DELETE CASCADE,
            content BLOB NOT NULL,
            session_key BLOB NOT NULL
        ) STRICT;
        """

    /// Stores the ID token of a session that was just inserted.
    static func insert(_ idToken: SealedIDToken, ofSessionWith token: TokenHash, in db: SQLSession) throws {
        try db.perform(insert, idToken.content, idToken.sessionKey, token)
    }

    /// Replaces the key for a session's former token by that for its new one. No effect without an ID token.
    static func replaceSessionKey(_ key: [UInt8], of session: Int64, in db: SQLSession) throws {
        try db.perform("UPDATE id_token_hints SET session_key = ? WHERE session = ?", key, session)
    }

    private static let insert = SQL.numbered(
        """
        INSERT INTO id_token_hints (session, content, session_key) \
        SELECT serial, ?1, ?2 FROM sessions WHERE token_hash = ?3
        """)
}
