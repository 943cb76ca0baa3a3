package import Primitives
package import Storage
package import StorageModel

package enum APIKeyAddition: Sendable, Hashable {
    case added
    /// A key that is not revoked has the name.
    case nameTaken
    case tooMany
}

/// Changes of the table `api_keys`, which the core only reads.
extension SQLStore {
    package func apiKeysWithRevoked(limit: Int) async throws(StorageError) -> [StoredAPIKey] {
        try await reads.submit { db in try APIKeysTable.keys("", limit: limit, in: db) }
    }

    /// Adds a key with an audit event, unless a key has its name or there are `limit` keys.
    package func addAPIKey(
        _ key: StoredAPIKey, limit: Int, recording event: AuditEvent
    ) async throws(StorageError) -> APIKeyAddition {
        try await writes.submit(locking: [.rule("api keys")]) { db in
            guard try !db.exists("SELECT 1 FROM api_keys WHERE name = ? AND revoked_at IS NULL", key.name) else {
                return .nameTaken
            }
            let count = try db.number("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL")
            guard count < limit else { return .tooMany }
            try db.perform(
                "INSERT INTO api_keys (name, key_hash, scope, created_at) VALUES (?, ?, ?, ?)",
                key.name, key.hash, key.scope, key.createdAt)
            try AuditTable.insert(event, in: db)
            return .added
        }
    }

    /// Revokes the key of a name, with an audit event. False if no key that is not revoked has the name.
    package func revokeAPIKey(
        _ name: String, at now: Timestamp, recording event: AuditEvent
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            let count = try db.run(
                "UPDATE api_keys SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL", now, name)
            guard count > 0 else { return false }
            try AuditTable.insert(event, in: db)
            return true
        }
    }
}

extension StoredAPIKey {
    /// As the column has it: a missing member means no limit.
    fileprivate var scope: String {
        var json = JSONObjectWriter()
        if let clients { json.add("clients", clients) }
        if let origins { json.add("origins", origins) }
        return String(decoding: json.finish(), as: UTF8.self)
    }
}
