import Primitives
import StorageModel

/// The table `recent_sign_ins`: what the sign-ins of the last minute gave, for those that are sent again.
enum RecentSignInsTable {
    /// Stores a sign-in's result in its transaction. Nil, and nothing is stored, if there is no such user, or if one of the
    /// user's sessions was ended since the same sign-in first began or completed.
    static func put(_ record: IdempotencyRecord, _ user: UserID, session: String, in db: SQLSession) throws
        -> GivenSession?
    {
        var statement = try CachedStatement(db, put)
        statement.bind(user.number)
        statement.bind(blob: record.key)
        statement.bind(session)
        statement.bind(record.endsAt.secondsSinceEpoch)
        statement.bind(record.endings)
        guard try statement.next() else { return nil }
        let endings = statement.number(0)
        try statement.run()
        return GivenSession(id: session, user: user, endings: endings)
    }

    static func signIn(_ key: [UInt8], at now: Timestamp, in db: SQLSession) throws -> RecentSignIn? {
        var query = try CachedStatement(db, select)
        query.bind(blob: key)
        query.bind(now.secondsSinceEpoch)
        guard try query.next() else { return nil }
        return RecentSignIn(
            session: GivenSession(
                id: try query.requiredText(1), user: UserID(query.number(0)), endings: query.number(2)),
            endsAt: Timestamp(secondsSinceEpoch: query.number(3)))
    }

    // Done before, too, it may be: by two copies at the same moment, where a carrier takes a code twice; or by this one,
    // which could not tell whether it was stored.
    private static let put = """
        INSERT INTO recent_sign_ins (fingerprint, user_id, session_id, sessions_ended, expires_at) \
        SELECT ?2, id, ?3, sessions_ended, ?4 FROM users WHERE id = ?1 AND sessions_ended = COALESCE(?5, sessions_ended) \
        ON CONFLICT (fingerprint) DO UPDATE SET user_id = excluded.user_id, session_id = excluded.session_id, \
        sessions_ended = excluded.sessions_ended, expires_at = excluded.expires_at \
        WHERE recent_sign_ins.user_id <> excluded.user_id OR recent_sign_ins.sessions_ended = excluded.sessions_ended \
        RETURNING sessions_ended
        """
    private static let select = """
        SELECT user_id, session_id, sessions_ended, expires_at FROM recent_sign_ins \
        WHERE fingerprint = ? AND expires_at > ?
        """

    // user_id refers to nothing and has no index, which would cost each sign-in more than the row is worth: the rows of a
    // user who was erased go within two minutes, and give nothing until then. Nor is a row removed when a session of its
    // user ends: users.sessions_ended counts that, and the row has what it was. So has a server-initiated sign-in.
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

extension UsersTable {
    /// Counts that sessions of a user were ended, or were to be: what signed in before gives no more of them. Expiry does
    /// not count.
    static func noteEnding(of user: UserID, in db: SQLSession) throws {
        var statement = try CachedStatement(
            db, "UPDATE users SET sessions_ended = sessions_ended + 1 WHERE id = ?")
        statement.bind(user.number)
        try statement.run()
    }
}
