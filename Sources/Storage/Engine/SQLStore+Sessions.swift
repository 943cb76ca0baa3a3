public import Primitives
public import StorageModel

extension SQLStore {
    public func revokeSessions(
        of user: UserID, except id: String, recording event: AuditEvent
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            let count = try SessionsTable.endAll(of: user, except: id, in: db)
            if count > 0 { try AuditTable.insert(event, in: db) }
            return count
        }
    }

    public func sessions(
        of user: UserID, at now: Timestamp, limit: Int
    ) async throws(StorageError) -> [SessionSummary] {
        try await reads.submit { db in try SessionsTable.summaries(of: user, at: now, limit: limit, in: db) }
    }

    /// In steps of a few milliseconds each, so that sign-ins come between them.
    public func recordLastSeen(_ sessions: [SessionLastSeen]) async throws(StorageError) {
        var rest = sessions[...]
        while !rest.isEmpty {
            let step = rest.prefix(128)
            rest = rest.dropFirst(128)
            try await writes.submit { db in
                for session in step { try SessionsTable.recordLastSeen(session, in: db) }
            }
        }
    }
}
