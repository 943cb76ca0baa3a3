import Primitives
public import StorageModel

/// Counts the changes of accounts, over all copies of this server on one database: what is done to one account with a
/// stolen session is not to be more for there being more copies.
public struct AccountChanges: Sendable {
    let store: any UserStore
    let clock: WallClock

    /// Counts one.
    /// - Returns: For how many seconds to wait, if there were too many; then it was not counted.
    /// - Throws: `temporarily_unavailable` if the store cannot tell.
    public func admit(_ user: UserID, within allowance: ChangeAllowance) async throws(SignInError) -> Int64? {
        try await stored(await store.countChange(of: user, within: allowance, at: clock.now()))
    }
}
