import Primitives
import StorageModel

/// The table `identities`, as far as moves need more of it than whose an identity is.
enum IdentitiesTable {
    struct Row {
        let identity: Identity
        let user: UserID
        let createdAt: Timestamp
        /// The move that took the account from here; nil while the identity signs its user in.
        let movedBy: Int64?
        /// The move that brought the account here, if one did.
        let arrivedBy: Int64?
        /// When it last came to sign its user in again, after a move back or the undoing of a move.
        let restoredAt: Timestamp?
    }

    static func row(_ identity: Identity, in db: SQLSession) throws -> Row? {
        var query = try CachedStatement(db, "\(select) WHERE issuer = ? AND subject = ?")
        query.bind(identity.issuer)
        query.bind(identity.subject)
        return try query.next() ? row(in: query) : nil
    }

    /// The live ones and those that were moved away, in the order they came to be.
    static func rows(of user: UserID, in db: SQLSession) throws -> [Row] {
        var query = try CachedStatement(db, "\(select) WHERE user_id = ? ORDER BY created_at, arrived_by NULLS FIRST")
        query.bind(user.number)
        var rows: [Row] = []
        while try query.next() { rows.append(try row(in: query)) }
        return rows
    }

    static func status(of identity: Identity, in db: SQLSession) throws -> IdentityStatus {
        guard let row = try row(identity, in: db) else { return .unknown }
        return row.movedBy == nil ? .live(row.user) : .moved(row.user)
    }

    /// Adds an identity to which a move brings a user's account.
    static func insert(_ identity: Identity, of user: UserID, by move: Int64, at now: Timestamp, in db: SQLSession)
        throws
    {
        var statement = try CachedStatement(
            db, "INSERT INTO identities (issuer, subject, user_id, created_at, arrived_by) VALUES (?, ?, ?, ?, ?)")
        statement.bind(identity.issuer)
        statement.bind(identity.subject)
        statement.bind(user.number)
        statement.bind(now.secondsSinceEpoch)
        statement.bind(move)
        try statement.run()
    }

    /// Says by which moves an identity lost the account and got it, and when it was restored.
    static func update(
        _ identity: Identity, movedBy: Int64?, arrivedBy: Int64?, restoredAt: Timestamp?, in db: SQLSession
    ) throws {
        var statement = try CachedStatement(
            db, "UPDATE identities SET moved_by = ?, arrived_by = ?, restored_at = ? WHERE issuer = ? AND subject = ?")
        statement.bind(movedBy)
        statement.bind(arrivedBy)
        statement.bind(restoredAt?.secondsSinceEpoch)
        statement.bind(identity.issuer)
        statement.bind(identity.subject)
        try statement.run()
    }

    static func delete(_ identity: Identity, in db: SQLSession) throws {
        var statement = try CachedStatement(db, "DELETE FROM identities WHERE issuer = ? AND subject = ?")
        statement.bind(identity.issuer)
        statement.bind(identity.subject)
        try statement.run()
    }

    private static func row(in query: borrowing CachedStatement) throws -> Row {
        Row(
            identity: Identity(issuer: try query.requiredText(0), subject: try query.requiredText(1)),
            user: UserID(query.number(2)), createdAt: Timestamp(secondsSinceEpoch: query.number(3)),
            movedBy: query.isNull(4) ? nil : query.number(4), arrivedBy: query.isNull(5) ? nil : query.number(5),
            restoredAt: query.isNull(6) ? nil : Timestamp(secondsSinceEpoch: query.number(6)))
    }

    private static let select =
        "SELECT issuer, subject, user_id, created_at, moved_by, arrived_by, restored_at FROM identities"
}
