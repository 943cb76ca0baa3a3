package import Primitives
package import StorageModel

/// The table `sealed_notes`.
enum OneTimeRecordsTable {
    // The content is worthless without the handle, of which only the hash is stored.
    static let schema = """
        CREATE TABLE sealed_notes (
            handle_hash BLOB PRIMARY KEY NOT NULL,
            purpose TEXT NOT NULL,
            content BLOB NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sealed_notes_by_expiry ON sealed_notes (expires_at);
        """

    /// The rows in the order in which they are made, and their handles in a narrow index: with the wide rows in the
    /// order of a hash, a third of each page would be empty. PostgreSQL has them so already.
    static let inOrder = """
        CREATE TABLE sealed_notes_in_order (
            handle_hash BLOB NOT NULL UNIQUE,
            purpose TEXT NOT NULL,
            content BLOB NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT;
        INSERT INTO sealed_notes_in_order (handle_hash, purpose, content, expires_at)
        SELECT handle_hash, purpose, content, expires_at FROM sealed_notes ORDER BY expires_at;
        DROP TABLE sealed_notes;
        ALTER TABLE sealed_notes_in_order RENAME TO sealed_notes;
        CREATE INDEX sealed_notes_by_expiry ON sealed_notes (expires_at);
        """

    /// Removes a record and returns its content; nil if there is none, or it has expired.
    static func take(_ handle: TokenHash, purpose: String, at now: Timestamp, in db: SQLSession) throws -> [UInt8]? {
        try db.returned(
            "DELETE FROM sealed_notes WHERE handle_hash = ? AND purpose = ? AND expires_at > ? RETURNING content",
            handle, purpose, now
        ) { $0.blob(0) }
    }
}

extension SQLStore {
    package func addOneTimeRecord(
        _ record: OneTimeRecord, insteadOf evicted: [TokenHash]
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            for handle in evicted { try db.perform("DELETE FROM sealed_notes WHERE handle_hash = ?", handle) }
            return try db.run(
                """
                INSERT INTO sealed_notes (handle_hash, purpose, content, expires_at) VALUES (?, ?, ?, ?) \
                ON CONFLICT DO NOTHING
                """, record.handle, record.purpose, record.content, record.expiresAt) > 0
        }
    }

    package func takeOneTimeRecord(
        _ handle: TokenHash, purpose: String, at now: Timestamp
    ) async throws(StorageError) -> [UInt8]? {
        try await writes.submit { db in try OneTimeRecordsTable.take(handle, purpose: purpose, at: now, in: db) }
    }
}
