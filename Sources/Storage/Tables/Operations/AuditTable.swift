package import Primitives
package import StorageModel

/// The table `audit_events`.
///
/// Code that changes an account inserts the event in the same transaction: no change without its event, no event
/// without its change.
enum AuditTable {
    static func insert(_ event: AuditEvent, in db: SQLSession) throws {
        try db.perform(
            "INSERT INTO audit_events (time, kind, user_id, actor, request_id, details) VALUES (?, ?, ?, ?, ?, ?)",
            event.time, event.kind.name, event.user, event.actor.name, event.requestID, event.details.json)
    }

    fileprivate static func events(_ query: AuditQuery, in db: SQLSession) throws -> [RecordedAuditEvent] {
        // A NULL condition is left out: the planner of SQLite would not use an index behind "? IS NULL OR".
        var conditions: [String] = []
        if query.user != nil { conditions.append("user_id = ?") }
        if query.kind != nil { conditions.append("kind = ?") }
        if query.since != nil { conditions.append("time >= ?") }
        if query.until != nil { conditions.append("time < ?") }
        if query.before != nil { conditions.append("serial < ?") }
        let filter = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) "
        var statement = try CachedStatement(
            db,
            """
            SELECT serial, time, kind, user_id, actor, request_id, details FROM audit_events \(filter)\
            ORDER BY serial DESC LIMIT ?
            """)
        if let user = query.user { statement.bind(user.number) }
        if let kind = query.kind { statement.bind(kind.name) }
        for time in [query.since, query.until] { if let time { statement.bind(time.secondsSinceEpoch) } }
        if let before = query.before { statement.bind(before) }
        statement.bind(Int64(min(max(query.limit, 1), 10_000)))
        var events: [RecordedAuditEvent] = []
        while try statement.next() { events.append(try RecordedAuditEvent(statement)) }
        return events
    }
}

extension RecordedAuditEvent {
    fileprivate init(_ row: borrowing CachedStatement) throws {
        let event = AuditEvent(
            at: row.time(1), AuditEvent.Kind(try row.text(2)), user: row.optionalNumber(3).map(UserID.init),
            by: AuditEvent.Actor(name: try row.text(4)), requestID: row.optionalText(5),
            details: AuditDetails(recorded: try row.text(6)))
        self.init(serial: row.number(0), event: event)
    }
}

extension SQLStore {
    package func addAuditEvent(_ event: AuditEvent) async throws(StorageError) {
        try await writes.submit { db in try AuditTable.insert(event, in: db) }
    }

    package func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent] {
        try await reads.submit { db in try AuditTable.events(query, in: db) }
    }

    /// Looks at the oldest events in the order they were added, so that the time needs no index: if the clock was set
    /// back once, some events stay a little longer.
    package func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await inSteps(limit: limit) { step, db in
            try db.run(
                """
                DELETE FROM audit_events \
                WHERE serial IN (SELECT serial FROM audit_events ORDER BY serial LIMIT ?) AND time < ?
                """, Int64(step), before)
        }
    }
}
