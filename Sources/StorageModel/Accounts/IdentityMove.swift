package import Primitives

/// The move of a user's account from one identity to another, by a port token of the former carrier.
package struct IdentityMove: Sendable, Hashable {
    /// The move's number, unique over all users.
    package let number: Int64
    package let user: UserID
    package let movedAt: Timestamp
    package let undoneAt: Timestamp?

    package init(number: Int64, user: UserID, movedAt: Timestamp, undoneAt: Timestamp?) {
        self.number = number
        self.user = user
        self.movedAt = movedAt
        self.undoneAt = undoneAt
    }
}

/// A move that can be undone, and its identities.
package struct UndoableMove: Sendable, Hashable {
    package let move: IdentityMove
    /// The identity that gets the account back.
    package let former: Identity
    /// The identity that loses the account.
    package let present: Identity

    package init(move: IdentityMove, former: Identity, present: Identity) {
        self.move = move
        self.former = former
        self.present = present
    }
}

/// Why a move cannot be undone.
package enum UndoObstacle: Error, Sendable, Hashable {
    /// The user has no move of this number.
    case unknown
    case alreadyUndone
    /// A later move has moved the account on, or the identity it moved to was removed.
    case superseded
}
