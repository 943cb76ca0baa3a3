import StorageModel

/// How sessions end before their time. Every way is here, because each has to be counted with the user: an earlier sign-in
/// that is sent again gives no session then.
extension SessionsTable {
    /// Ends the session of a token, also of its last one before the present. False if there is none.
    static func end(_ token: TokenHash, in db: SQLSession) throws -> Bool {
        for sql in [deleteByToken, deleteByLastToken] {
            var statement = try CachedStatement(db, sql)
            statement.bind(token)
            if try !end(&statement, in: db).isEmpty { return true }
        }
        return false
    }

    /// Ends a user's session. False if the user has none of this id.
    static func end(id: String, of user: UserID, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(db, deleteByID)
        statement.bind(user.number)
        statement.bind(id)
        return try !end(&statement, in: db).isEmpty
    }

    /// Ends all sessions of a user; returns how many there were.
    static func endAll(of user: UserID, in db: SQLSession) throws -> Int {
        try endAll(of: user, except: "", in: db)
    }

    /// Ends all sessions of a user but one; returns how many there were. Counts also where there was none: nobody else is
    /// to have one.
    static func endAll(of user: UserID, except id: String, in db: SQLSession) throws -> Int {
        var statement = try CachedStatement(db, "DELETE FROM sessions WHERE user_id = ? AND id <> ?")
        statement.bind(user.number)
        statement.bind(id)
        try statement.run()
        let count = db.changesCount
        try UsersTable.noteEnding(of: user, in: db)
        return count
    }

    /// Ends the sessions of a user that an identity signed in, but one; returns how many there were. Counts also where
    /// there was none, since the one that stays may be the identity's.
    static func endAll(
        of user: UserID, signedInBy identity: Identity, except id: String?, in db: SQLSession
    ) throws -> Int {
        var statement = try CachedStatement(db, deleteByIdentity)
        statement.bind(user.number)
        statement.bind(blob: OriginHash.of(identity))
        statement.bind(id ?? "")
        try statement.run()
        let count = db.changesCount
        try UsersTable.noteEnding(of: user, in: db)
        return count
    }

    /// Ends what a provider says to be over; how many sessions there were, by user.
    static func end(_ scope: ProviderLogout.Scope, in db: SQLSession) throws -> [UserID: Int] {
        switch scope {
        case .identity(let identity):
            try PendingRegistrationsTable.delete(of: identity, in: db)
            // Found by the user, so that sign-ins need no further index.
            guard let user = try UsersTable.user(identity, in: db)?.id else { return [:] }
            let count = try endAll(of: user, signedInBy: identity, except: nil, in: db)
            return count == 0 ? [:] : [user: count]
        case .session(let session, let identity):
            try PendingRegistrationsTable.delete(signedInBy: session, of: identity, in: db)
            var statement = try CachedStatement(db, deleteByProviderSession)
            statement.bind(blob: OriginHash.of(session))
            statement.bind(identity == nil ? 1 : 0)
            statement.bind(blob: identity.map(OriginHash.of) ?? [])
            return try end(&statement, in: db)
        }
    }

    /// Runs a deletion that returns the users whose sessions it took; how many of each.
    private static func end(
        _ deletion: inout CachedStatement, in db: SQLSession
    ) throws -> [UserID: Int] {
        var counts: [UserID: Int] = [:]
        while try deletion.next() { counts[UserID(deletion.number(0)), default: 0] += 1 }
        // In one order, so that two that end the same users' sessions do not wait for each other.
        for user in counts.keys.sorted(by: { $0.number < $1.number }) { try UsersTable.noteEnding(of: user, in: db) }
        return counts
    }

    private static let deleteByToken = "DELETE FROM sessions WHERE token_hash = ? RETURNING user_id"
    private static let deleteByLastToken = """
        DELETE FROM sessions WHERE serial = (SELECT session FROM last_rotations WHERE token_hash = ?) RETURNING user_id
        """
    private static let deleteByID = "DELETE FROM sessions WHERE user_id = ? AND id = ? RETURNING user_id"
    private static let deleteByIdentity = "DELETE FROM sessions WHERE user_id = ? AND identity_hash = ? AND id <> ?"
    private static let deleteByProviderSession = """
        DELETE FROM sessions WHERE provider_session_hash = ?1 AND (?2 = 1 OR identity_hash = ?3) RETURNING user_id
        """
}
