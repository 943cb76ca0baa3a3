package import Primitives

/// A store that is checked and cleaned up from time to time.
package protocol MaintainedStore: Sendable {
    /// Returns if the store can be read and written.
    func check() async throws(StorageError)

    /// Removes at most `limit` rows of each kind that expired before `now`. Returns their number.
    func purgeExpired(at now: Timestamp, limit: Int) async throws(StorageError) -> Int
}
