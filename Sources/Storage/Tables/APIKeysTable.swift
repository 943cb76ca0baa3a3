import Primitives
import StorageModel

/// The table `api_keys`. A key that was revoked stays, for the list of keys.
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
    static func keys(withRevoked: Bool, limit: Int, in db: SQLSession) throws -> [StoredAPIKey] {
        let condition = withRevoked ? "" : "WHERE revoked_at IS NULL "
        var query = try CachedStatement(
            db,
            "SELECT name, key_hash, scope, created_at, revoked_at FROM api_keys \(condition)ORDER BY serial LIMIT ?")
        query.bind(Int64(limit))
        var keys: [StoredAPIKey] = []
        while try query.next() { keys.append(try key(in: query)) }
        return keys
    }

    static func count(in db: SQLSession) throws -> Int64 {
        let query = try CachedStatement(db, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL")
        return try query.next() ? query.number(0) : 0
    }

    static func has(_ name: String, in db: SQLSession) throws -> Bool {
        var query = try CachedStatement(db, "SELECT 1 FROM api_keys WHERE name = ? AND revoked_at IS NULL")
        query.bind(name)
        return try query.next()
    }

    static func insert(_ key: StoredAPIKey, in db: SQLSession) throws {
        var statement = try CachedStatement(
            db, "INSERT INTO api_keys (name, key_hash, scope, created_at) VALUES (?, ?, ?, ?)")
        statement.bind(key.name)
        statement.bind(key.hash)
        statement.bind(scope(of: key))
        statement.bind(key.createdAt.secondsSinceEpoch)
        try statement.run()
    }

    /// False if no key that is not revoked has the name.
    static func revoke(_ name: String, at now: Timestamp, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(
            db, "UPDATE api_keys SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL")
        statement.bind(now.secondsSinceEpoch)
        statement.bind(name)
        try statement.run()
        return db.changesCount > 0
    }

    /// Left out is what the key is not held to.
    private static func scope(of key: StoredAPIKey) -> String {
        var json = JSONObjectWriter()
        if let clients = key.clients { json.add("clients", clients) }
        if let origins = key.origins { json.add("origins", origins) }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    private static func key(in row: borrowing CachedStatement) throws -> StoredAPIKey {
        // A scope that cannot be read must not be taken for none.
        guard let scope = (try? JSONValue(parsing: Array(try row.requiredText(2).utf8)))?.object else {
            throw StorageError(.corrupt, reason: "the scope of an API key is not one")
        }
        return StoredAPIKey(
            name: try row.requiredText(0), hash: try row.hash(1), clients: try texts("clients", scope),
            origins: try texts("origins", scope), createdAt: Timestamp(secondsSinceEpoch: row.number(3)),
            revokedAt: row.isNull(4) ? nil : Timestamp(secondsSinceEpoch: row.number(4)))
    }

    private static func texts(_ name: String, _ scope: JSONObject) throws -> [String]? {
        guard let value = scope[name] else { return nil }
        guard let items = value.array else {
            throw StorageError(.corrupt, reason: "the scope of an API key is not one")
        }
        return items.compactMap(\.string)
    }
}
