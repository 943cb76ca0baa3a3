/// A change of the database, by any process.
package enum StoreChange: Sendable, Hashable {
    /// The user's profile has changed, or sessions of the user have ended.
    case user(UserID)
    /// Some changes may have gone unreported.
    case anything
}
