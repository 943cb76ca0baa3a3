public import Primitives

/// By what an operator looks for users.
public enum UserSearch: Sendable, Hashable {
    case number(UserID)
    case publicID(String)
    /// Without regard to the case of ASCII letters.
    case email(String)
    case phoneNumber(String)
    /// Also one that an account was moved from.
    case identity(Identity)
}

/// All that is on record of an account, for an operator.
public struct AccountRecord: Sendable, Hashable {
    public let user: User
    /// In the order they came to be; those that the account was moved from are among them.
    public let identities: [KeptIdentity]
    /// The first one first.
    public let moves: [IdentityMove]
    /// How many sessions the account has.
    public let sessionCount: Int

    package init(user: User, identities: [KeptIdentity], moves: [IdentityMove], sessionCount: Int) {
        self.user = user
        self.identities = identities
        self.moves = moves
        self.sessionCount = sessionCount
    }

    /// An identity of an account, and how it got and lost it.
    public struct KeptIdentity: Sendable, Hashable {
        public let identity: Identity
        public let createdAt: Timestamp
        /// The number of the move that brought the account here, if one did.
        public let arrivedBy: Int64?
        /// The number of the move that took it away; nil while the identity signs the user in.
        public let movedBy: Int64?

        package init(identity: Identity, createdAt: Timestamp, arrivedBy: Int64?, movedBy: Int64?) {
            self.identity = identity
            self.createdAt = createdAt
            self.arrivedBy = arrivedBy
            self.movedBy = movedBy
        }
    }
}
