public import Primitives
public import StorageModel

extension SQLStore {
    public func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey] {
        try await reads.submit { db in try APIKeysTable.keys(withRevoked: false, limit: limit, in: db) }
    }

    /// All keys, also those that were revoked.
    public func apiKeysWithRevoked(limit: Int) async throws(StorageError) -> [StoredAPIKey] {
        try await reads.submit { db in try APIKeysTable.keys(withRevoked: true, limit: limit, in: db) }
    }

    /// Puts a key on record, unless one has its name or there are `limit`, and records that.
    public func addAPIKey(
        _ key: StoredAPIKey, limit: Int, recording event: AuditEvent
    ) async throws(StorageError) -> APIKeyAddition {
        try await writes.submit { db in
            guard try !APIKeysTable.has(key.name, in: db) else { return .nameTaken }
            guard try APIKeysTable.count(in: db) < limit else { return .tooMany }
            try APIKeysTable.insert(key, in: db)
            try AuditTable.insert(event, in: db)
            return .added
        }
    }

    /// Revokes the key of a name, and records that. False if there is none.
    public func revokeAPIKey(
        _ name: String, at now: Timestamp, recording event: AuditEvent
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            guard try APIKeysTable.revoke(name, at: now, in: db) else { return false }
            try AuditTable.insert(event, in: db)
            return true
        }
    }
}
