import Primitives
import StorageModel

/// The table `sealed_notes`.
enum OneTimeRecordsTable {
    /// False if there is one of its handle.
    static func insert(_ record: OneTimeRecord, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(db, insert)
        statement.bind(record.handle)
        statement.bind(record.purpose)
        statement.bind(blob: record.content)
        statement.bind(record.expiresAt.secondsSinceEpoch)
        try statement.run()
        return db.changesCount == 1
    }

    /// Removes a record and returns its content; nil if there is none, or none any more.
    static func take(_ handle: TokenHash, purpose: String, at now: Timestamp, in db: SQLSession) throws -> [UInt8]? {
        var statement = try CachedStatement(db, take)
        statement.bind(handle)
        statement.bind(purpose)
        statement.bind(now.secondsSinceEpoch)
        guard try statement.next() else { return nil }
        let content = statement.blob(0)
        // RETURNING gives the row before the statement has ended.
        try statement.run()
        return content
    }

    private static let insert = """
        INSERT INTO sealed_notes (handle_hash, purpose, content, expires_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
        """
    private static let take =
        "DELETE FROM sealed_notes WHERE handle_hash = ? AND purpose = ? AND expires_at > ? RETURNING content"
}
