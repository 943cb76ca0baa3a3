package import Primitives
package import Storage
package import StorageModel

/// The stored capsule of a failed sign-in: what was requested, received and checked, without secrets and personal data.
package struct CapsuleRecord: Sendable, Hashable {
    /// The correlation id of the sign-in. Several failures may have the same.
    package let correlationID: String
    package let time: Timestamp
    /// What failed, and where. Capsules with the same cause displace one another first.
    package let cause: String
    /// One JSON object.
    package let json: String
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

    /// The latest capsules, newest first, at most `limit`.
    /// - Parameter correlationID: Only those of this sign-in; nil for all.
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

    /// Removes at most `limit` capsules that are from before a moment, or are too many for `count` to be left. Returns
    /// their number.
    ///
    /// Of too many, the oldest of the causes with the most go first: each cause keeps its newest, and as many as the
    /// others. So a flood with one cause leaves those with others.
    package func purgeCapsules(
        from before: Timestamp, keeping count: Int, limit: Int
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            // The place of a capsule is its number among the capsules of its cause, the newest first.
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
