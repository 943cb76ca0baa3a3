/// The API keys that operators make and revoke while servers run.
public protocol APIKeyStore: Sendable {
    /// The keys that are not revoked, at most `limit`.
    func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey]
}
