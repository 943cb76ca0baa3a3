public import Primitives
public import StorageModel

extension SQLStore {
    public func addAuditEvent(_ event: AuditEvent) async throws(StorageError) {
        try await writes.submit { db in try AuditTable.insert(event, in: db) }
    }

    public func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent] {
        try await reads.submit { db in try AuditTable.events(query, in: db) }
    }

    /// In steps of a few milliseconds each, so that sign-ins come between them.
    public func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int {
        var removed = 0
        while removed < limit {
            let step = min(128, limit - removed)
            let count = try await writes.submit { db in
                try AuditTable.deleteOldest(from: before, limit: step, in: db)
            }
            removed += count
            if count < step { break }
        }
        return removed
    }
}
