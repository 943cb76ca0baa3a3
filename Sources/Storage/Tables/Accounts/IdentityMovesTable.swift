import Primitives
import StorageModel

/// The table `identity_moves`: which account moved from one identity to another, by which port token.
///
/// The identities of a move are stored in `identities` only: the former has the move's number in `moved_by`, the
/// current one in `arrived_by`. The port token's hash is unique: a port token moves an account once, also if the move
/// was undone.
enum IdentityMovesTable {
    struct Row {
        let move: IdentityMove
        /// The former `moved_by` and `arrived_by` of the identity that the account came to, if it was stored.
        let earlierDeparture: Int64?
        let earlierArrival: Int64?

        fileprivate init(_ row: borrowing CachedStatement) {
            move = IdentityMove(
                number: row.number(0), user: row.user(1), movedAt: row.time(2), undoneAt: row.optionalTime(3))
            earlierDeparture = row.optionalNumber(4)
            earlierArrival = row.optionalNumber(5)
        }
    }

    static func insert(
        user: UserID, token: TokenHash, at now: Timestamp, arrivingAt present: IdentitiesTable.Row?, in db: SQLSession
    ) throws -> Int64 {
        try db.insert(
            """
            INSERT INTO identity_moves (user_id, port_token_hash, moved_at, earlier_departure, earlier_arrival) \
            VALUES (?, ?, ?, ?, ?)
            """, user, token, now, present?.movedBy, present?.arrivedBy, numbering: "id")
    }

    static func hasMoved(_ token: TokenHash, in db: SQLSession) throws -> Bool {
        try db.exists("SELECT 1 FROM identity_moves WHERE port_token_hash = ?", token)
    }

    static func row(_ number: Int64, in db: SQLSession) throws -> Row? {
        try db.first("\(select) WHERE id = ?", number, read: Row.init)
    }

    /// A user's moves, the first one first.
    static func moves(of user: UserID, in db: SQLSession) throws -> [IdentityMove] {
        try db.all("\(select) WHERE user_id = ? ORDER BY id", user) { Row($0).move }
    }

    static func setUndone(_ number: Int64, at now: Timestamp, in db: SQLSession) throws {
        try db.perform("UPDATE identity_moves SET undone_at = ? WHERE id = ?", now, number)
    }

    private static let select =
        "SELECT id, user_id, moved_at, undone_at, earlier_departure, earlier_arrival FROM identity_moves"
}
