import Primitives
import StorageModel

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
}
