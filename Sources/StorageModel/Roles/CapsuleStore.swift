package import Primitives

/// The capsules of failed sign-ins.
package protocol CapsuleStore: Sendable {
    /// Adds a capsule.
    func addCapsule(_ capsule: CapsuleRecord) async throws(StorageError)

    /// The latest capsules, newest first, at most `limit`.
    /// - Parameter correlationID: Only those of this sign-in; nil for all.
    func capsules(of correlationID: String?, limit: Int) async throws(StorageError) -> [CapsuleRecord]

    /// Removes at most `limit` capsules that are from before a moment, or are too many for `count` to be left. Returns
    /// their number.
    ///
    /// Of too many, the oldest of the causes with the most go first: each cause keeps its newest, and as many as the
    /// others. So a flood with one cause leaves those with others.
    func purgeCapsules(from before: Timestamp, keeping count: Int, limit: Int) async throws(StorageError) -> Int
}
