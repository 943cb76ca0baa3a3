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
package enum UndoError: Error, Sendable, Hashable {
    /// The user has no move of this number.
    case unknown
    case alreadyUndone
    /// A later move has moved the account on, or the identity it moved to was removed.
    case superseded
}

/// A former identity of a user, from a verified port token of the former carrier.
package struct PortedIdentity: Sendable, Hashable {
    package let identity: Identity
    /// When the former carrier issued the port token.
    package let issuedAt: Timestamp
    /// Identifies the port token, which moves an identity once.
    package let token: TokenHash

    package init(identity: Identity, issuedAt: Timestamp, token: TokenHash) {
        self.identity = identity
        self.issuedAt = issuedAt
        self.token = token
    }
}

/// The present status of an identity.
package enum IdentityStatus: Sendable, Hashable {
    /// No user has it.
    case unknown
    /// Signs this user in.
    case live(UserID)
    /// This user had it until a port token moved the account to another identity. It signs no user in, and it is not
    /// free: its present holder may be the former user or someone new.
    case moved(UserID)
}
