import Primitives
import StorageModel

/// The table `identity_moves`: whose account went from one identity to another, and by which port token.
///
/// A move's identities stand in `identities` only: the former has its number in `moved_by`, the present one in
/// `arrived_by`. The port token's hash is unique, so that no port token ever moves a second time, by whomever it is
/// shown and whatever was undone in between.
enum IdentityMovesTable {
    struct Row {
        let move: IdentityMove
        /// What stood in `moved_by` and `arrived_by` of the identity that the account came to, if it was on record.
        let earlierDeparture: Int64?
        let earlierArrival: Int64?
    }

    static func insert(
        user: UserID, token: TokenHash, at now: Timestamp, arrivingAt present: IdentitiesTable.Row?, in db: SQLSession
    ) throws -> Int64 {
        var statement = try CachedStatement(
            db,
            """
            INSERT INTO identity_moves (user_id, port_token_hash, moved_at, earlier_departure, earlier_arrival) \
            VALUES (?, ?, ?, ?, ?)
            """, numberedBy: "id")
        statement.bind(user.number)
        statement.bind(token)
        statement.bind(now.secondsSinceEpoch)
        statement.bind(present?.movedBy)
        statement.bind(present?.arrivedBy)
        return try statement.runForNumber()
    }

    static func hasMoved(_ token: TokenHash, in db: SQLSession) throws -> Bool {
        var query = try CachedStatement(db, "SELECT 1 FROM identity_moves WHERE port_token_hash = ?")
        query.bind(token)
        return try query.next()
    }

    static func row(_ number: Int64, in db: SQLSession) throws -> Row? {
        var query = try CachedStatement(db, "\(select) WHERE id = ?")
        query.bind(number)
        return try query.next() ? row(in: query) : nil
    }

    /// A user's moves, the first one first.
    static func moves(of user: UserID, in db: SQLSession) throws -> [IdentityMove] {
        var query = try CachedStatement(db, "\(select) WHERE user_id = ? ORDER BY id")
        query.bind(user.number)
        var moves: [IdentityMove] = []
        while try query.next() { moves.append(row(in: query).move) }
        return moves
    }

    static func setUndone(_ number: Int64, at now: Timestamp, in db: SQLSession) throws {
        var statement = try CachedStatement(db, "UPDATE identity_moves SET undone_at = ? WHERE id = ?")
        statement.bind(now.secondsSinceEpoch)
        statement.bind(number)
        try statement.run()
    }

    private static func row(in query: borrowing CachedStatement) -> Row {
        let move = IdentityMove(
            number: query.number(0), user: UserID(query.number(1)),
            movedAt: Timestamp(secondsSinceEpoch: query.number(2)),
            undoneAt: query.isNull(3) ? nil : Timestamp(secondsSinceEpoch: query.number(3)))
        return Row(
            move: move, earlierDeparture: query.isNull(4) ? nil : query.number(4),
            earlierArrival: query.isNull(5) ? nil : query.number(5))
    }

    private static let select =
        "SELECT id, user_id, moved_at, undone_at, earlier_departure, earlier_arrival FROM identity_moves"
}
