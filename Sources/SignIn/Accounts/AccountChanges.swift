import Primitives
package import StorageModel

/// Counts the changes of each account over all instances on one database, so that more instances do not allow more
/// changes with a stolen session.
package struct AccountChanges: Sendable {
    let store: any UserStore
    let clock: WallClock

    /// Counts one change.
    /// - Returns: The seconds to wait if there were too many, in which case the change is not counted; otherwise nil.
    /// - Throws: `temporarily_unavailable` if the store is unavailable.
    package func admit(_ user: UserID, within allowance: ChangeAllowance) async throws(SignInError) -> Int64? {
        try await stored(await store.countChange(of: user, within: allowance, at: clock.now()))
    }
}
