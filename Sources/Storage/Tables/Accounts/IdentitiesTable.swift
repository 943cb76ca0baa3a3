package import Primitives
package import StorageModel

/// The table `identities`, with the identities that an account was moved away from, which sign no user in.
package enum IdentitiesTable {
    package struct Row: Sendable, Hashable {
        package let identity: Identity
        let user: UserID
        package let createdAt: Timestamp
        /// The move that took the account from here; nil while the identity signs its user in.
        package let movedBy: Int64?
        /// The move that brought the account here, if one did.
        package let arrivedBy: Int64?
        /// When it last became its user's again, by a move back or by undoing a move.
        let restoredAt: Timestamp?

        fileprivate init(_ row: borrowing CachedStatement) throws {
            identity = try row.identity(from: 0)
            user = row.user(2)
            createdAt = row.time(3)
            movedBy = row.optionalNumber(4)
            arrivedBy = row.optionalNumber(5)
            restoredAt = row.optionalTime(6)
        }
    }

    package static func row(_ identity: Identity, in db: SQLSession) throws -> Row? {
        try db.first("\(select) WHERE issuer = ? AND subject = ?", identity, read: Row.init)
    }

    /// The same with the identity and its user locked: only this write changes them.
    static func lockedRow(_ identity: Identity, in db: SQLSession) throws -> Row? {
        let query: SQL = "\(select) JOIN users ON users.id = identities.user_id WHERE issuer = ? AND subject = ?"
        return try locked(query, identity, in: db, read: Row.init)
    }

    /// Runs a query of an identity and its user, and locks both until the transaction ends. For writes with the lock
    /// ``WriteLock/holder(issuer:subject:)``.
    static func locked<Found>(
        _ query: SQL, _ identity: Identity, in db: SQLSession, read: (borrowing CachedStatement) throws -> Found
    ) throws -> Found? {
        // The user first, as everywhere.
        let query = db.locking(query, "users, identities")
        if let found = try db.first(query, identity, read: read) { return found }
        // Left out if it got another user, by a merge, while the statement waited: the next one sees that.
        return db.isPostgres ? try db.first(query, identity, read: read) : nil
    }

    /// The live identities and those moved away, in the order they were added.
    package static func rows(of user: UserID, in db: SQLSession) throws -> [Row] {
        try db.all("\(select) WHERE user_id = ? ORDER BY created_at, arrived_by NULLS FIRST", user, read: Row.init)
    }

    package static func status(of identity: Identity, in db: SQLSession) throws -> IdentityStatus {
        guard let row = try row(identity, in: db) else { return .unknown }
        return row.movedBy == nil ? .live(row.user) : .moved(row.user)
    }

    /// Whether an identity of an issuer signs a user in.
    static func holds(_ issuer: String, user: UserID, in db: SQLSession) throws -> Bool {
        try db.exists(
            "SELECT 1 FROM identities WHERE user_id = ? AND issuer = ? AND moved_by IS NULL", user, issuer)
    }

    /// Adds an identity that no user has.
    /// - Parameter move: The move that brings a user's account to it.
    package static func insert(
        _ identity: Identity, of user: UserID, by move: Int64? = nil, at now: Timestamp, in db: SQLSession
    ) throws {
        try db.perform(insertRow, identity, user, now, move)
    }

    private static let insertRow = SQL.numbered(
        "INSERT INTO identities (issuer, subject, user_id, created_at, arrived_by) VALUES (?, ?, ?, ?, ?)")

    /// Stores by which moves an identity lost the account and got it, and when it was restored.
    package static func update(
        _ identity: Identity, movedBy: Int64?, arrivedBy: Int64?, restoredAt: Timestamp?, in db: SQLSession
    ) throws {
        try db.perform(
            "UPDATE identities SET moved_by = ?, arrived_by = ?, restored_at = ? WHERE issuer = ? AND subject = ?",
            movedBy, arrivedBy, restoredAt, identity)
    }

    package static func delete(_ identity: Identity, in db: SQLSession) throws {
        try db.perform("DELETE FROM identities WHERE issuer = ? AND subject = ?", identity)
    }

    private static let select = """
        SELECT issuer, subject, user_id, identities.created_at, moved_by, arrived_by, restored_at FROM identities
        """
}
