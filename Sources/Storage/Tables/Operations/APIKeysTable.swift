import Primitives
package import StorageModel

/// The table `api_keys`. A revoked key stays, for the list of keys.
package enum APIKeysTable {
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
    package static func keys(_ condition: String, limit: Int, in db: SQLSession) throws -> [StoredAPIKey] {
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
}

extension SQLStore {
    package func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey] {
        try await reads.submit { db in try APIKeysTable.keys("WHERE revoked_at IS NULL", limit: limit, in: db) }
    }
}
