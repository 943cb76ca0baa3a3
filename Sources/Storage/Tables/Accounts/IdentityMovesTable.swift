package import Primitives
package import StorageModel

/// The table `identity_moves`: which account moved from one identity to another, by which port token.
///
/// The identities of a move are stored in `identities` only: the former has the move's number in `moved_by`, the
/// current one in `arrived_by`. The port token's hash is unique: a port token moves an account once, also if the move
/// was undone.
package enum IdentityMovesTable {
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

    package static func move(_ number: Int64, in db: SQLSession) throws -> IdentityMove? {
        try db.first("\(select) WHERE id = ?", number, read: move(in:))
    }

    /// A user's moves, the first one first.
    package static func moves(of user: UserID, in db: SQLSession) throws -> [IdentityMove] {
        try db.all("\(select) WHERE user_id = ? ORDER BY id", user, read: move(in:))
    }

    private static func move(in row: borrowing CachedStatement) -> IdentityMove {
        IdentityMove(
            number: row.number(0), user: row.user(1), movedAt: row.time(2), undoneAt: row.optionalTime(3),
            earlierDeparture: row.optionalNumber(4), earlierArrival: row.optionalNumber(5))
    }

    package static func setUndone(_ number: Int64, at now: Timestamp, in db: SQLSession) throws {
        try db.perform("UPDATE identity_moves SET undone_at = ? WHERE id = ?", now, number)
    }

    private static let select =
        "SELECT id, user_id, moved_at, undone_at, earlier_departure, earlier_arrival FROM identity_moves"
}

/// The move of a user's account from one identity to another, by a port token of the former carrier.
package struct IdentityMove: Sendable, Hashable {
    /// The move's number, unique over all users.
    package let number: Int64
    package let user: UserID
    package let movedAt: Timestamp
    package let undoneAt: Timestamp?
    /// The former `moved_by` and `arrived_by` of the identity that the account came to, if it was stored.
    package var earlierDeparture: Int64?
    package var earlierArrival: Int64?
}
