package import Primitives

/// An administrator's search for users.
package enum UserSearch: Sendable, Hashable {
    case number(UserID)
    case publicID(String)
    /// Ignores the case of ASCII letters.
    case email(String)
    case phoneNumber(String)
    /// Also an identity that an account was moved from.
    case identity(Identity)
}

/// All that is stored of an account, for an administrator.
package struct AccountRecord: Sendable, Hashable {
    package let user: User
    /// In the order they were added, with those that the account was moved from.
    package let identities: [KeptIdentity]
    /// The first one first.
    package let moves: [IdentityMove]
    /// The number of the account's sessions.
    package let sessionCount: Int

    package init(user: User, identities: [KeptIdentity], moves: [IdentityMove], sessionCount: Int) {
        self.user = user
        self.identities = identities
        self.moves = moves
        self.sessionCount = sessionCount
    }

    /// An identity of an account, with the moves that brought the account and took it away.
    package struct KeptIdentity: Sendable, Hashable {
        package let identity: Identity
        package let createdAt: Timestamp
        /// The number of the move that brought the account here, if one did.
        package let arrivedBy: Int64?
        /// The number of the move that took the account away; nil while the identity signs the user in.
        package let movedBy: Int64?

        package init(identity: Identity, createdAt: Timestamp, arrivedBy: Int64?, movedBy: Int64?) {
            self.identity = identity
            self.createdAt = createdAt
            self.arrivedBy = arrivedBy
            self.movedBy = movedBy
        }
    }
}
