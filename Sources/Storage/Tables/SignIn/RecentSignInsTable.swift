package import Primitives
package import StorageModel

/// The table `recent_sign_ins`: the results of the last minute's sign-ins, for retries of them.
enum RecentSignInsTable {
    /// Stores a sign-in's result in its transaction. Nil, and nothing is stored, if there is no such user, or if one of
    /// the user's sessions was ended since the same sign-in first began or completed.
    static func put(
        _ record: IdempotencyRecord, _ user: UserID, session: String, in db: SQLSession
    ) throws -> GivenSession? {
        try db.returned(put, user, record.key, session, record.endsAt, record.endings) {
            GivenSession(id: session, user: user, endings: $0.number(0))
        }
    }

    // The row may exist: two instances may have done the same sign-in at the same moment, where a carrier takes a code
    // twice; or this one did, and could not tell whether the row was stored.
    private static let put = """
        INSERT INTO recent_sign_ins (fingerprint, user_id, session_id, sessions_ended, expires_at) \
        SELECT ?2, id, ?3, sessions_ended, ?4 FROM users \
        WHERE id = ?1 AND sessions_ended = COALESCE(?5, sessions_ended) \
        ON CONFLICT (fingerprint) DO UPDATE SET user_id = excluded.user_id, session_id = excluded.session_id, \
        sessions_ended = excluded.sessions_ended, expires_at = excluded.expires_at \
        WHERE recent_sign_ins.user_id <> excluded.user_id OR recent_sign_ins.sessions_ended = excluded.sessions_ended \
        RETURNING sessions_ended
        """

    // user_id refers to nothing and has no index, which would cost each sign-in more than the row is worth: the rows of
    // an erased user go within two minutes and give nothing until then. Nor is a row removed when a session of its user
    // ends: users.sessions_ended counts that, and the row keeps the count of its time, as a backchannel authentication
    // does.
    static let schema = """
        ALTER TABLE users ADD COLUMN sessions_ended INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE async_sign_ins ADD COLUMN sessions_ended INTEGER;
        CREATE TABLE recent_sign_ins (
            fingerprint BLOB PRIMARY KEY NOT NULL,
            user_id INTEGER NOT NULL,
            session_id TEXT NOT NULL,
            sessions_ended INTEGER NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX recent_sign_ins_by_end ON recent_sign_ins (expires_at);
        """
}

extension SQLStore {
    package func recentSignIn(
        _ key: [UInt8], at now: Timestamp
    ) async throws(StorageError) -> (session: GivenSession, endsAt: Timestamp)? {
        try await reads.submit { db in
            try db.first(
                """
                SELECT user_id, session_id, sessions_ended, expires_at FROM recent_sign_ins \
                WHERE fingerprint = ? AND expires_at > ?
                """, key, now
            ) { row in
                (GivenSession(id: try row.text(1), user: row.user(0), endings: row.number(2)), row.time(3))
            }
        }
    }
}
