package import Primitives

/// The capsules of failed sign-ins.
package protocol CapsuleStore: Sendable {
    /// Adds a capsule.
    func addCapsule(_ capsule: CapsuleRecord) async throws(StorageError)

    /// The latest capsules, newest first, at most `limit`.
    /// - Parameter correlationID: Only those of this sign-in; nil for all.
    func capsules(of correlationID: String?, limit: Int) async throws(StorageError) -> [CapsuleRecord]

    /// Removes at most `limit` capsules that are from before a moment, or are not among the newest `count`. Returns
    /// their number.
    func purgeCapsules(from before: Timestamp, keeping count: Int, limit: Int) async throws(StorageError) -> Int
}
