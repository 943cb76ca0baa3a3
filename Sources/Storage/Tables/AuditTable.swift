import Primitives
import StorageModel

/// The table `audit_events`.
///
/// Whoever changes an account inserts the event in the same transaction: there is no change without its event, and no
/// event without its change.
enum AuditTable {
    static func insert(_ event: AuditEvent, in db: SQLSession) throws {
        var statement = try CachedStatement(db, insert)
        statement.bind(event.time.secondsSinceEpoch)
        statement.bind(event.kind.name)
        statement.bind(event.user?.number)
        statement.bind(event.actor.name)
        statement.bind(event.requestID)
        statement.bind(event.details.json)
        try statement.run()
    }

    static func events(_ query: AuditQuery, in db: SQLSession) throws -> [RecordedAuditEvent] {
        var statement = try CachedStatement(db, select(query))
        if let user = query.user { statement.bind(user.number) }
        if let kind = query.kind { statement.bind(kind.name) }
        if let since = query.since { statement.bind(since.secondsSinceEpoch) }
        if let until = query.until { statement.bind(until.secondsSinceEpoch) }
        if let before = query.before { statement.bind(before) }
        statement.bind(Int64(min(max(query.limit, 1), 10_000)))
        var events: [RecordedAuditEvent] = []
        while try statement.next() { events.append(try event(in: statement)) }
        return events
    }

    /// Removes those of the oldest `limit` events that are from before a moment; returns how many went.
    ///
    /// They are looked for in the order they came in, so that no index on the time is needed: should the clock have been
    /// set back once, some events stay a little longer.
    static func deleteOldest(from before: Timestamp, limit: Int, in db: SQLSession) throws -> Int {
        var statement = try CachedStatement(db, delete)
        statement.bind(Int64(limit))
        statement.bind(before.secondsSinceEpoch)
        try statement.run()
        return db.changesCount
    }

    private static func event(in row: borrowing CachedStatement) throws -> RecordedAuditEvent {
        let event = AuditEvent(
            at: Timestamp(secondsSinceEpoch: row.number(1)), AuditEvent.Kind(try row.requiredText(2)),
            user: row.isNull(3) ? nil : UserID(row.number(3)), by: AuditEvent.Actor(name: try row.requiredText(4)),
            requestID: row.text(5), details: AuditDetails(recorded: try row.requiredText(6)))
        return RecordedAuditEvent(serial: row.number(0), event: event)
    }

    private static func select(_ query: AuditQuery) -> String {
        var conditions: [String] = []
        if query.user != nil { conditions.append("user_id = ?") }
        if query.kind != nil { conditions.append("kind = ?") }
        if query.since != nil { conditions.append("time >= ?") }
        if query.until != nil { conditions.append("time < ?") }
        if query.before != nil { conditions.append("serial < ?") }
        let filter = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) "
        return "SELECT serial, time, kind, user_id, actor, request_id, details FROM audit_events \(filter)"
            + "ORDER BY serial DESC LIMIT ?"
    }

    private static let insert = """
        INSERT INTO audit_events (time, kind, user_id, actor, request_id, details) VALUES (?, ?, ?, ?, ?, ?)
        """
    private static let delete = """
        DELETE FROM audit_events WHERE serial IN (SELECT serial FROM audit_events ORDER BY serial LIMIT ?) AND time < ?
        """
}
