public import StorageModel

/// What changing the keys of stored tokens takes.
extension SQLStore {
    /// How many rows of tokens are under each key.
    public func providerTokenCounts() async throws(StorageError) -> [String: Int] {
        try await reads.submit { db in try ProviderTokensTable.counts(in: db) }
    }

    /// Rows of tokens that are not under a key, in the order they came to be, at most `limit`.
    public func providerTokens(
        notUnder keyID: String, after serial: Int64, limit: Int
    ) async throws(StorageError) -> [ProviderTokenRecord] {
        try await reads.submit { db in
            try ProviderTokensTable.records(notUnder: keyID, after: serial, limit: limit, in: db)
        }
    }

    /// Puts the same tokens under another key. What was changed since it was read is passed over. Versions stay, so that
    /// whoever has claimed a row can store what comes of it.
    /// - Returns: How many were changed.
    public func resealProviderTokens(_ rows: [ResealedTokens]) async throws(StorageError) -> Int {
        try await writes.submit { db in
            try rows.count { try ProviderTokensTable.reseal($0, in: db) }
        }
    }
}

/// A row as it was read, and the same tokens under another key.
public struct ResealedTokens: Sendable {
    public let record: ProviderTokenRecord
    public let sealed: SealedTokens

    public init(record: ProviderTokenRecord, sealed: SealedTokens) {
        self.record = record
        self.sealed = sealed
    }
}

extension ProviderTokensTable {
    static func counts(in db: SQLSession) throws -> [String: Int] {
        let query = try CachedStatement(db, "SELECT key_id, count(*) FROM provider_tokens GROUP BY key_id")
        var counts: [String: Int] = [:]
        while try query.next() { counts[try query.requiredText(0)] = Int(query.number(1)) }
        return counts
    }

    fileprivate static func records(
        notUnder keyID: String, after serial: Int64, limit: Int, in db: SQLSession
    ) throws -> [ProviderTokenRecord] {
        var query = try CachedStatement(db, "\(select) WHERE serial > ? AND key_id <> ? ORDER BY serial LIMIT ?")
        query.bind(serial)
        query.bind(keyID)
        query.bind(Int64(limit))
        var records: [ProviderTokenRecord] = []
        while try query.next() { records.append(try record(in: query)) }
        return records
    }

    fileprivate static func reseal(_ row: ResealedTokens, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(
            db, "UPDATE provider_tokens SET key_id = ?, content = ? WHERE serial = ? AND version = ?")
        statement.bind(row.sealed.keyID)
        statement.bind(blob: row.sealed.content)
        statement.bind(row.record.serial)
        statement.bind(row.record.version)
        try statement.run()
        return db.changesCount > 0
    }
}
