import Primitives
import Storage
import StorageModel

/// The move of a user's account from one identity to another, by a port token of the former carrier.
struct IdentityMove: Sendable, Hashable {
    /// The move's number, unique over all users.
    let number: Int64
    let user: UserID
    let movedAt: Timestamp
    let undoneAt: Timestamp?
    /// The former `moved_by` and `arrived_by` of the identity that the account came to, if it was stored.
    var earlierDeparture: Int64?
    var earlierArrival: Int64?
}

/// What an administrator reads and changes of the table.
extension IdentityMovesTable {
    static func move(_ number: Int64, in db: SQLSession) throws -> IdentityMove? {
        try db.first("\(select) WHERE id = ?", number, read: move(in:))
    }

    /// A user's moves, the first one first.
    static func moves(of user: UserID, in db: SQLSession) throws -> [IdentityMove] {
        try db.all("\(select) WHERE user_id = ? ORDER BY id", user, read: move(in:))
    }

    private static func move(in row: borrowing CachedStatement) -> IdentityMove {
        IdentityMove(
            number: row.number(0), user: row.user(1), movedAt: row.time(2), undoneAt: row.optionalTime(3),
            earlierDeparture: row.optionalNumber(4), earlierArrival: row.optionalNumber(5))
    }

    private static let select =
        "SELECT id, user_id, moved_at, undone_at, earlier_departure, earlier_arrival FROM identity_moves"
}
