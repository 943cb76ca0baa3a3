package import StorageModel

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
    package let identities: [IdentitiesTable.Row]
    /// The first one first.
    package let moves: [IdentityMove]
    /// The number of the account's sessions.
    package let sessionCount: Int
}
