/// The keys that sign receipts and seals of the audit log.
package protocol SigningKeyStore: Sendable {
    /// All signing keys, the newest last.
    func signingKeys() async throws(StorageError) -> [SigningKeyRecord]

    /// Adds a key with its audit event, if the newest key is still the one that the caller knows.
    /// - Parameter newest: The id of that key; nil if there was none.
    /// - Returns: False if another process added a key first; then nothing was stored.
    func addSigningKey(
        _ key: SigningKeyRecord, after newest: String?, recording event: AuditEvent
    ) async throws(StorageError) -> Bool

    /// Removes signing keys, each with its audit event; skips unknown ids.
    /// - Parameter event: The event of the removal of a key.
    func removeSigningKeys(
        _ ids: [String], recording event: @escaping @Sendable (String) -> AuditEvent
    ) async throws(StorageError)
}
