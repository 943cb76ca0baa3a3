/// The keys that sign receipts of transactions.
package protocol SigningKeyStore: Sendable {
    /// All signing keys, the newest last.
    func signingKeys() async throws(StorageError) -> [SigningKeyRecord]

    /// Adds a key, if the newest key is still the one that the caller knows.
    /// - Parameter newest: The id of that key; nil if there was none.
    /// - Returns: False if another process added a key first; then nothing was stored.
    func addSigningKey(_ key: SigningKeyRecord, after newest: String?) async throws(StorageError) -> Bool

    /// Removes signing keys; skips unknown ids.
    func removeSigningKeys(_ ids: [String]) async throws(StorageError)
}
