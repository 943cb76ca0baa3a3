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

    /// Removes a record and returns its content; nil if there is none, or it has expired.
    static func take(_ handle: TokenHash, purpose: String, at now: Timestamp, in db: SQLSession) throws -> [UInt8]? {
        try db.returned(
            "DELETE FROM sealed_notes WHERE handle_hash = ? AND purpose = ? AND expires_at > ? RETURNING content",
            handle, purpose, now
        ) { $0.blob(0) }
    }
}

extension SQLStore {
    package func addOneTimeRecord(_ record: OneTimeRecord) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try db.run(
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
