package import Primitives
package import StorageModel

/// The table `api_keys`. A revoked key stays, for the list of keys.
enum APIKeysTable {
    static let schema = """
        CREATE TABLE api_keys (
            serial INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            key_hash BLOB NOT NULL UNIQUE,
            scope TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            revoked_at INTEGER
        ) STRICT;
        CREATE UNIQUE INDEX api_keys_by_name ON api_keys (name) WHERE revoked_at IS NULL;
        """

    /// The keys in the order they were made.
    fileprivate static func keys(_ condition: String, limit: Int, in db: SQLSession) throws -> [StoredAPIKey] {
        try db.all(
            "SELECT name, key_hash, scope, created_at, revoked_at FROM api_keys \(condition) ORDER BY serial LIMIT ?",
            Int64(limit)
        ) { row in
            // An unreadable scope must not be taken for an unlimited one.
            guard let scope = (try? JSONValue(parsing: Array(try row.text(2).utf8)))?.object else { throw unreadable }
            return StoredAPIKey(
                name: try row.text(0), hash: try row.hash(1), clients: try texts("clients", scope),
                origins: try texts("origins", scope), createdAt: row.time(3), revokedAt: row.optionalTime(4))
        }
    }

    private static func texts(_ name: String, _ scope: JSONObject) throws -> [String]? {
        guard let value = scope[name] else { return nil }
        guard let items = value.array else { throw unreadable }
        return items.compactMap(\.string)
    }

    private static let unreadable = StorageError(.corrupt, reason: "the scope of an API key is unreadable")

    /// A missing member means no limit.
    fileprivate static func scope(of key: StoredAPIKey) -> String {
        var json = JSONObjectWriter()
        if let clients = key.clients { json.add("clients", clients) }
        if let origins = key.origins { json.add("origins", origins) }
        return String(decoding: json.finish(), as: UTF8.self)
    }
}

extension SQLStore {
    package func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey] {
        try await reads.submit { db in try APIKeysTable.keys("WHERE revoked_at IS NULL", limit: limit, in: db) }
    }

    /// All keys, the revoked ones too.
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
                key.name, key.hash, APIKeysTable.scope(of: key), key.createdAt)
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
