package import Primitives
package import StorageModel

/// The table `sealed_notes`.
package enum OneTimeRecordsTable {
    /// The rows in the order in which they are made, and their handles in a narrow index. With the wide rows in the
    /// order of a hash, a third of each page would be empty. In PostgreSQL, which has them so by itself, the handle is
    /// the primary key.
    ///
    /// The content is worthless without the handle, of which only the hash is stored.
    static let schema = """
        CREATE TABLE "sealed_notes" (
            \(handle),
            purpose TEXT NOT NULL,
            content BLOB NOT NULL,
            expires_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX sealed_notes_by_expiry ON sealed_notes (expires_at);
        """
    package static let handle = "handle_hash BLOB NOT NULL UNIQUE"

    /// The handles of one look-up: a list of fixed length, so that there is one statement.
    fileprivate struct Handles: SQLValue {
        static let count = 50

        /// At least one, and at most ``count``. The last one fills the list.
        let handles: ArraySlice<TokenHash>

        func bind(to statement: inout CachedStatement) {
            for handle in handles { handle.bind(to: &statement) }
            guard let last = handles.last else { return }
            for _ in handles.count..<Self.count { last.bind(to: &statement) }
        }
    }

    fileprivate static let selectPresent = SQL.numbered(
        """
        SELECT handle_hash FROM sealed_notes \
        WHERE handle_hash IN (\(repeatElement("?", count: Handles.count).joined(separator: ", "))) AND expires_at > ?
        """)

    fileprivate static let selectContent = SQL.numbered(
        "SELECT content FROM sealed_notes WHERE handle_hash = ? AND purpose = ? AND expires_at > ?")
    private static let insertRecord = SQL.numbered(
        """
        INSERT INTO sealed_notes (handle_hash, purpose, content, expires_at) VALUES (?, ?, ?, ?) \
        ON CONFLICT DO NOTHING
        """)
    private static let removeRecord = SQL.numbered(
        """
        DELETE FROM sealed_notes WHERE handle_hash = ? AND purpose = ? AND expires_at > ? \
        RETURNING content, expires_at
        """)
    private static let deleteRecord = SQL.numbered("DELETE FROM sealed_notes WHERE handle_hash = ?")

    /// False, and nothing is stored, if the handle is in use.
    package static func insert(_ record: OneTimeRecord, in db: SQLSession) throws -> Bool {
        try db.run(insertRecord, record.handle, record.purpose, record.content, record.expiresAt) > 0
    }

    static func delete(_ handle: TokenHash, in db: SQLSession) throws { try db.perform(deleteRecord, handle) }

    /// Removes a record and returns its content; nil if there is none, or it has expired.
    package static func take(
        _ handle: TokenHash, purpose: String, at now: Timestamp, in db: SQLSession
    ) throws -> [UInt8]? {
        try remove(handle, purpose: purpose, at: now, in: db)?.content
    }

    private static func remove(
        _ handle: TokenHash, purpose: String, at now: Timestamp, in db: SQLSession
    ) throws -> OneTimeRecord? {
        try db.all(removeRecord, handle, purpose, now) {
            OneTimeRecord(handle: handle, purpose: purpose, content: $0.blob(0), expiresAt: $0.time(1))
        }.first
    }

    private static let claimNonce = SQL.numbered(
        """
        UPDATE sealed_notes SET purpose = ? WHERE handle_hash = ? AND purpose = ? AND content > ? AND expires_at > ?
        """)
    private static let renameRecord = SQL.numbered(
        "UPDATE sealed_notes SET purpose = ? WHERE handle_hash = ? AND purpose = ?")
    private static let deleteNonce = SQL.numbered("DELETE FROM sealed_notes WHERE handle_hash = ? AND purpose = ?")
    private static let selectRecord = SQL.numbered(
        "SELECT purpose, content, expires_at FROM sealed_notes WHERE handle_hash = ?")

    /// Uses a token up. Returns the record of its nonce as it was before, if it had one; nil if it was used before.
    static func use(_ use: OneTimeUse, at now: Timestamp, in db: SQLSession) throws -> [OneTimeRecord]? {
        switch use.nonce {
        case .issued(let handle, let purpose):
            let good = IssuedNonce.content(of: now)
            if try db.run(claimNonce, use.usedPurpose, handle, purpose, good, now) > 0 {
                return [OneTimeRecord(handle: handle, purpose: purpose, content: good, expiresAt: now)]
            }
            // A version up to 38 issued the nonce, or none did.
            let record = try record(of: handle, in: db)
            guard let record, record.purpose == purpose, record.content.isEmpty, record.expiresAt > now else {
                return nil
            }
            return try mark(use, insteadOf: record, in: db)
        case .any(let handles):
            for handle in handles {
                guard let record = try record(of: handle, in: db) else { continue }
                guard record.purpose.hasPrefix(IssuedNonce.purposes) else { return nil }
                return try mark(use, insteadOf: record, in: db)
            }
            return try insert(use.mark, in: db) ? [] : nil
        }
    }

    /// For a nonce whose record may end before the token does.
    private static func mark(
        _ use: OneTimeUse, insteadOf nonce: OneTimeRecord, in db: SQLSession
    ) throws -> [OneTimeRecord]? {
        guard try insert(use.mark, in: db) else { return nil }
        // Not if another transaction has used it since it was read.
        if try db.run(deleteNonce, nonce.handle, nonce.purpose) > 0 { return [nonce] }
        try delete(use.mark.handle, in: db)
        return nil
    }

    private static func record(of handle: TokenHash, in db: SQLSession) throws -> OneTimeRecord? {
        try db.first(selectRecord, handle) {
            OneTimeRecord(handle: handle, purpose: try $0.text(0), content: $0.blob(1), expiresAt: $0.time(2))
        }
    }

    /// Undoes a use in its transaction.
    /// - Parameter former: What ``use(_:at:in:)`` returned.
    static func undo(_ use: OneTimeUse, of former: [OneTimeRecord], in db: SQLSession) throws {
        for nonce in former where try db.run(renameRecord, nonce.purpose, nonce.handle, use.usedPurpose) == 0 {
            _ = try insert(nonce, in: db)
        }
        try delete(use.mark.handle, in: db)
    }

    /// Why a token cannot be used.
    fileprivate static func refusal(of use: OneTimeUse, in db: SQLSession) throws -> OneTimeUse.Outcome {
        if try record(of: use.mark.handle, in: db) != nil { return .tokenUsedBefore }
        let handles =
            switch use.nonce {
            case .issued(let handle, _): [handle]
            case .any(let handles): handles
            }
        let isUsed = try handles.contains { try record(of: $0, in: db)?.purpose == use.usedPurpose }
        return isUsed ? .tokenUsedBefore : .nonceNotIssued
    }
}

extension SQLStore {
    package func addOneTimeRecord(
        _ record: OneTimeRecord, insteadOf evicted: [TokenHash]
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            for handle in evicted { try OneTimeRecordsTable.delete(handle, in: db) }
            return try OneTimeRecordsTable.insert(record, in: db)
        }
    }

    package func oneTimeRecords(
        among handles: [TokenHash], at now: Timestamp
    ) async throws(StorageError) -> Set<TokenHash> {
        try await reads.submit { db in
            let size = OneTimeRecordsTable.Handles.count
            return try stride(from: 0, to: handles.count, by: size).reduce(into: []) { present, start in
                let part = OneTimeRecordsTable.Handles(handles: handles[start..<min(start + size, handles.count)])
                present.formUnion(try db.all(OneTimeRecordsTable.selectPresent, part, now) { try $0.hash(0) })
            }
        }
    }

    package func oneTimeRecord(
        _ handle: TokenHash, purpose: String, at now: Timestamp
    ) async throws(StorageError) -> [UInt8]? {
        try await reads.submit { db in
            try db.first(OneTimeRecordsTable.selectContent, handle, purpose, now) { $0.blob(0) }
        }
    }

    package func takeOneTimeRecord(
        _ handle: TokenHash, purpose: String, at now: Timestamp
    ) async throws(StorageError) -> [UInt8]? {
        try await writes.submit { db in try OneTimeRecordsTable.take(handle, purpose: purpose, at: now, in: db) }
    }

    package func spend(_ use: OneTimeUse, at now: Timestamp) async throws(StorageError) -> OneTimeUse.Outcome {
        try await writes.submit { db in
            try OneTimeRecordsTable.use(use, at: now, in: db) == nil
                ? OneTimeRecordsTable.refusal(of: use, in: db) : .used
        }
    }
}
