/// The API keys that operators make and revoke while servers run.
package protocol APIKeyStore: Sendable {
    /// The keys that are not revoked, at most `limit`.
    func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey]
}
