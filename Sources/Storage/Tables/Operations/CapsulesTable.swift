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

    // The index has all that a removal looks at, so that it reads no contents.
    static let causes = """
        ALTER TABLE capsules ADD COLUMN cause TEXT NOT NULL DEFAULT '';
        CREATE INDEX capsules_by_cause ON capsules (cause, serial, time);
        """
}

extension CapsuleRecord {
    fileprivate init(_ row: borrowing CachedStatement) throws {
        self.init(
            correlationID: try row.text(0), time: row.time(1), cause: try row.text(2), json: try row.text(3))
    }
}

extension SQLStore {
    package func addCapsule(_ capsule: CapsuleRecord) async throws(StorageError) {
        try await writes.submit { db in
            try db.perform(
                "INSERT INTO capsules (correlation_id, time, cause, content) VALUES (?, ?, ?, ?)",
                capsule.correlationID, capsule.time, capsule.cause, capsule.json)
        }
    }

    package func capsules(of correlationID: String?, limit: Int) async throws(StorageError) -> [CapsuleRecord] {
        try await reads.submit { db in
            let (all, last) = (
                "SELECT correlation_id, time, cause, content FROM capsules", "ORDER BY serial DESC LIMIT ?"
            )
            guard let correlationID else { return try db.all("\(all) \(last)", Int64(limit), read: CapsuleRecord.init) }
            return try db.all(
                "\(all) WHERE correlation_id = ? \(last)", correlationID, Int64(limit), read: CapsuleRecord.init)
        }
    }

    package func purgeCapsules(
        from before: Timestamp, keeping count: Int, limit: Int
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            // The place of a capsule is its number among those of its cause, the newest first.
            try db.run(
                """
                DELETE FROM capsules WHERE serial IN (SELECT serial FROM \
                (SELECT serial, time, row_number() OVER (ORDER BY place, serial DESC) AS rank FROM \
                (SELECT serial, time, row_number() OVER (PARTITION BY cause ORDER BY serial DESC) AS place \
                FROM capsules) AS placed) AS ranked WHERE rank > ? OR time < ? ORDER BY serial LIMIT ?)
                """, Int64(count), before, Int64(limit))
        }
    }
}
