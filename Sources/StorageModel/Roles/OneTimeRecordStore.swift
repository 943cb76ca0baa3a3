package import Primitives

/// Encrypted values that are read once.
package protocol OneTimeRecordStore: Sendable {
    /// Stores a record until it is taken or expires. False, and nothing is stored, if its handle is in use.
    /// - Parameter evicted: The handles of records that are removed in any case.
    func addOneTimeRecord(_ record: OneTimeRecord, insteadOf evicted: [TokenHash]) async throws(StorageError) -> Bool

    /// Those of the handles that have a record, for any purpose, which has not expired.
    func oneTimeRecords(among handles: [TokenHash], at now: Timestamp) async throws(StorageError) -> Set<TokenHash>

    /// Removes a record and returns its content: once, for the record's purpose, before it expires; nil otherwise.
    func takeOneTimeRecord(_ handle: TokenHash, purpose: String, at now: Timestamp) async throws(StorageError)
        -> [UInt8]?
}
