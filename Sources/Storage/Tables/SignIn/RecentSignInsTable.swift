package import Primitives
package import StorageModel

/// The table `recent_sign_ins`: the results of the last minute's sign-ins, for retries of them.
///
/// In a shared store, each sign-in has a row here, by which the other processes find it. Otherwise the process has them
/// in memory, and only a restart reads them from the store: then the session's row has the record in its columns
/// `retry_key`, `retry_endings` and `retry_ends_at`, at a fraction of the cost, and goes here when the session ends.
package enum RecentSignInsTable {
    /// Stores a sign-in's result in its transaction. False, and nothing is stored, if one of the user's sessions was
    /// ended since the same sign-in first completed.
    static func put(_ signIn: RecentSignIn, in db: SQLSession) throws -> Bool {
        try db.run(put, signIn) > 0
    }

    /// Keeps the records of sessions that are about to be removed, so that a restart does not forget that a sign-in was
    /// done. Those that ended before the latest sign-in are left out.
    /// - Parameter condition: Selects the sessions.
    static func keep<each Value: SQLValue>(
        _ condition: String, _ values: repeat each Value, in db: SQLSession
    ) throws {
        // Processes on PostgreSQL share it.
        guard !db.isPostgres else { return }
        try db.perform(
            """
            INSERT OR REPLACE INTO recent_sign_ins (fingerprint, user_id, session_id, sessions_ended, expires_at) \
            SELECT retry_key, user_id, id, retry_endings, retry_ends_at FROM sessions WHERE \(condition) \
            AND retry_key IS NOT NULL \
            AND retry_ends_at > (SELECT created_at FROM sessions ORDER BY serial DESC LIMIT 1)
            """, repeat each values)
    }

    // The row may exist: two instances may have done the same sign-in at the same moment, where a provider takes a code
    // twice; or this one did, and could not tell whether the row was stored.
    private static let put = SQL.numbered("\(insert) VALUES (?, ?, ?, ?, ?) \(replace)")
    package static let select =
        "SELECT fingerprint, user_id, session_id, sessions_ended, expires_at FROM recent_sign_ins"
    package static let insert =
        "INSERT INTO recent_sign_ins (fingerprint, user_id, session_id, sessions_ended, expires_at)"
    package static let replace = """
        ON CONFLICT (fingerprint) DO UPDATE SET user_id = excluded.user_id, session_id = excluded.session_id, \
        sessions_ended = excluded.sessions_ended, expires_at = excluded.expires_at \
        WHERE recent_sign_ins.user_id <> excluded.user_id OR recent_sign_ins.sessions_ended = excluded.sessions_ended
        """

    // user_id refers to nothing and has no index, which would cost each sign-in more than the row is worth: the rows of
    // an erased user go within two minutes and give nothing until then. Nor is a row removed when a session of its user
    // ends: users.sessions_ended counts that, and the row keeps the count of its time, as a backchannel authentication
    // does.
    static let schema = """
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
    package func recentSignIn(_ key: [UInt8], at now: Timestamp) async throws(StorageError) -> RecentSignIn? {
        let batched = BatchedRecall((key, now))
        return try await reads.submit(allowing: CommitDelay.shared, sharing: batched) { db in
            if let recalled = batched.output { return recalled }
            return try db.first(
                "\(RecentSignInsTable.select) WHERE fingerprint = ? AND expires_at > ?", key, now,
                read: RecentSignIn.init)
        }
    }

    package func recentSignIns(at now: Timestamp, limit: Int) async throws(StorageError) -> [RecentSignIn] {
        try await reads.submit { db in
            let ended = try db.all(
                "\(RecentSignInsTable.select) WHERE expires_at > ? ORDER BY expires_at DESC LIMIT ?", now,
                Int64(limit), read: RecentSignIn.init)
            // The latest rows, whatever they are, so that a large table is not read to its end.
            let live = try db.all(
                """
                SELECT retry_key, user_id, id, retry_endings, retry_ends_at FROM \
                (SELECT * FROM sessions ORDER BY serial DESC LIMIT ?2) AS latest \
                WHERE retry_key IS NOT NULL AND retry_ends_at > ?1
                """, now, Int64(limit), read: RecentSignIn.init)
            return ended.reversed() + live.reversed()
        }
    }
}

/// Five columns: those of `recent_sign_ins`.
extension RecentSignIn: SQLValue {
    package func bind(to statement: inout CachedStatement) {
        statement.bind(key, session.user, session.id, session.endings, endsAt)
    }

    package init(_ row: borrowing CachedStatement) throws {
        self.init(
            key: row.blob(0),
            session: GivenSession(id: try row.text(2), user: row.user(1), endings: row.number(3)), endsAt: row.time(4))
    }
}
