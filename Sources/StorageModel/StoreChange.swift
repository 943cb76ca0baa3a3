/// What has changed in the database, perhaps by another process.
public enum StoreChange: Sendable, Hashable {
    /// A user, or the user's sessions: some have ended, or the profile has become another.
    case user(UserID)
    /// Some changes may not have been told of.
    case anything
}
