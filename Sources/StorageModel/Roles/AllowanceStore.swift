package import Primitives

/// What all processes count together.
package protocol AllowanceStore: Sendable {
    /// Counts one use of each allowance, such as those of a user and a phone number.
    /// - Returns: The seconds to wait if one of them is used up, and then the use is counted for none; nil if it fits.
    func count(_ uses: [AllowanceUse], at now: Timestamp) async throws(StorageError) -> Int64?

    /// What ``count(_:at:)`` would return. Nothing is counted.
    func wait(for uses: [AllowanceUse], at now: Timestamp) async throws(StorageError) -> Int64?
}
