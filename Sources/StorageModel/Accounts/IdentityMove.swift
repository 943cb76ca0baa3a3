public import Primitives

/// The move of a user's account from one identity to another, on the word of the former carrier.
public struct IdentityMove: Sendable, Hashable {
    /// Counts the moves of all users.
    public let number: Int64
    public let user: UserID
    public let movedAt: Timestamp
    public let undoneAt: Timestamp?

    public init(number: Int64, user: UserID, movedAt: Timestamp, undoneAt: Timestamp?) {
        self.number = number
        self.user = user
        self.movedAt = movedAt
        self.undoneAt = undoneAt
    }
}

/// A move that can be undone, and between which identities it was.
public struct UndoableMove: Sendable, Hashable {
    public let move: IdentityMove
    /// Gets the account back.
    public let former: Identity
    /// Loses it.
    public let present: Identity

    public init(move: IdentityMove, former: Identity, present: Identity) {
        self.move = move
        self.former = former
        self.present = present
    }
}

/// Why a move cannot be undone.
public enum UndoObstacle: Error, Sendable, Hashable {
    /// The user has no move of this number.
    case unknown
    case alreadyUndone
    /// A later move has taken the account on, or the identity it came to was removed.
    case superseded
}
