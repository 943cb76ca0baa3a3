package import Primitives
package import StorageModel

/// The table `capsules`: what became of failed sign-ins, for operators.
enum CapsulesTable {
    // The serials are in the order of time, so that the time needs no index.
    static let schema = """
        CREATE TABLE capsules (
            serial INTEGER PRIMARY KEY,
            correlation_id TEXT NOT NULL,
            time INTEGER NOT NULL,
            content TEXT NOT NULL
        ) STRICT;
        CREATE INDEX capsules_by_correlation_id ON capsules (correlation_id);
        """
}

extension CapsuleRecord {
    fileprivate init(_ row: borrowing CachedStatement) throws {
        self.init(correlationID: try row.text(0), time: row.time(1), json: try row.text(2))
    }
}

extension SQLStore {
    package func addCapsule(_ capsule: CapsuleRecord) async throws(StorageError) {
        try await writes.submit { db in
            try db.perform(
                "INSERT INTO capsules (correlation_id, time, content) VALUES (?, ?, ?)", capsule.correlationID,
                capsule.time, capsule.json)
        }
    }

    package func capsules(of correlationID: String?, limit: Int) async throws(StorageError) -> [CapsuleRecord] {
        try await reads.submit { db in
            guard let correlationID else {
                return try db.all(
                    "SELECT correlation_id, time, content FROM capsules ORDER BY serial DESC LIMIT ?", Int64(limit)
                ) { try CapsuleRecord($0) }
            }
            return try db.all(
                """
                SELECT correlation_id, time, content FROM capsules WHERE correlation_id = ? \
                ORDER BY serial DESC LIMIT ?
                """, correlationID, Int64(limit)
            ) { try CapsuleRecord($0) }
        }
    }

    package func purgeCapsules(
        from before: Timestamp, keeping count: Int, limit: Int
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            // The oldest that stays; nil if all may stay for their number.
            let oldest = try db.first(
                "SELECT serial FROM capsules ORDER BY serial DESC LIMIT 1 OFFSET ?", Int64(max(0, count - 1))
            ) { $0.number(0) }
            let first = count > 0 ? oldest ?? 0 : Int64.max
            return try db.run(
                """
                DELETE FROM capsules WHERE serial IN (SELECT serial \
                FROM (SELECT serial, time FROM capsules ORDER BY serial LIMIT ?) AS oldest WHERE serial < ? OR time < ?)
                """, Int64(limit), first, before)
        }
    }
}
