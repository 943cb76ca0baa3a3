package import StorageModel

/// The ways a session ends before it expires. All are here, because each must be counted with the user: a retry of an
/// earlier sign-in then gives no session.
extension SessionsTable {
    /// Ends a user's sessions but one; returns how many there were. Counts even if there were none: no one else shall
    /// get one by a retry.
    package static func endAll(of user: UserID, except id: String? = nil, in db: SQLSession) throws -> Int {
        // No session has an empty id.
        try endAll(of: user, "user_id = ? AND id <> ?", user, id ?? "", in: db)
    }

    /// Ends a user's sessions that an identity signed in, but one; returns how many there were. Counts even if there
    /// were none, because the session that stays may be the identity's.
    package static func endAll(
        of user: UserID, signedInBy identity: Identity, except id: String?, in db: SQLSession
    ) throws -> Int {
        try endAll(
            of: user, "user_id = ? AND identity_hash = ? AND id <> ?", user, OriginHash.of(identity), id ?? "", in: db)
    }

    private static func endAll<each Value: SQLValue>(
        of user: UserID, _ condition: String, _ values: repeat each Value, in db: SQLSession
    ) throws -> Int {
        // Before the deletion, because it waits for sign-ins of the user: the deletion sees their sessions.
        try countEnding(of: user, in: db)
        try RecentSignInsTable.keep(condition, repeat each values, in: db)
        return try db.run("DELETE FROM sessions WHERE \(condition)", repeat each values)
    }

    /// Ends the sessions that meet a condition; how many, by user.
    /// - Parameter condition: Has question marks without numbers.
    package static func end<each Value: SQLValue>(
        _ condition: String, _ values: repeat each Value, in db: SQLSession
    ) throws -> [UserID: Int] {
        let holders: SQL =
            "SELECT id FROM users WHERE id IN (SELECT user_id FROM sessions WHERE \(condition)) ORDER BY id"
        var counts: [UserID: Int] = [:]
        while true {
            let users = try db.all(db.locking(holders), repeat each values) { $0.user(0) }
            // A further user may get such a session meanwhile. It stays until its user is locked, so that no copy of
            // it is missed.
            guard !users.isEmpty else { return counts }
            for user in users {
                let count = try endAll(of: user, "\(condition) AND user_id = ?", repeat each values, user, in: db)
                if count > 0 { counts[user, default: 0] += count }
            }
        }
    }

    /// Ends a session of a user who is locked; false if there is none.
    fileprivate static func end(_ id: String, of user: UserID, in db: SQLSession) throws -> Bool {
        let condition = "user_id = ? AND id = ?"
        try RecentSignInsTable.keep(condition, user, id, in: db)
        guard try db.run("DELETE FROM sessions WHERE \(condition)", user, id) > 0 else { return false }
        try countEnding(of: user, in: db)
        return true
    }

    /// Whether a session of the user exists: it was not revoked.
    package static func holds(_ id: String, of user: UserID, in db: SQLSession) throws -> Bool {
        try db.exists("SELECT 1 FROM sessions WHERE user_id = ? AND id = ?", user, id)
    }

    /// Counts that sessions of a user were ended, or would have been: earlier sign-ins give no more of them. Expiry
    /// does not count.
    private static func countEnding(of user: UserID, in db: SQLSession) throws {
        try db.perform("UPDATE users SET sessions_ended = sessions_ended + 1 WHERE id = ?", user)
    }
}

extension SQLStore {
    package func revokeSession(
        id: String, of user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> SessionRevocation {
        try await writes.submit(locking: [.user(user)]) { db in
            if let session, try !SessionsTable.holds(session, of: user, in: db) { return .askingSessionEnded }
            guard try SessionsTable.end(id, of: user, in: db) else { return .unknownSession }
            if let event { try AuditTable.insert(event, in: db) }
            return .revoked
        }
    }

    package func revokeSessions(
        of user: UserID, except id: String?, recording event: AuditEvent
    ) async throws(StorageError) -> Int? {
        try await writes.submit(locking: [.user(user)]) { db in
            if let id, try !SessionsTable.holds(id, of: user, in: db) { return nil }
            let count = try SessionsTable.endAll(of: user, except: id, in: db)
            if count > 0 { try AuditTable.insert(event, in: db) }
            return count
        }
    }
}
