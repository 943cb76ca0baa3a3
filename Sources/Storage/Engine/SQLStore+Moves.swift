public import Primitives
public import StorageModel

extension SQLStore {
    public func statuses(of identities: [Identity]) async throws(StorageError) -> [IdentityStatus] {
        try await reads.submit { db in try identities.map { try IdentitiesTable.status(of: $0, in: db) } }
    }

    /// What undoing a move of a user would do. Changes nothing.
    public func undoableMove(
        _ number: Int64, of user: UserID
    ) async throws(StorageError) -> Result<UndoableMove, UndoObstacle> {
        try await reads.submit { db in try AccountMove.undoable(number, of: user, in: db) }
    }

    /// Undoes a move of a user, and ends the user's sessions.
    public func undoMove(
        _ number: Int64, of user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?
    ) async throws(StorageError) -> Result<UndoableMove, UndoObstacle> {
        try await writes.submit { db in
            try AccountMove.undo(number, of: user, at: now, by: actor, reason: reason, in: db)
        }
    }
}
