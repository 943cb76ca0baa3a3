import Primitives
package import StorageModel

/// The table `audit_events`.
///
/// Code that changes an account inserts the event in the same transaction: no change without its event, no event
/// without its change.
///
/// An event has a salt and the digest of its details, unless a version without seals added it: then the sealing, or the
/// erasure of its user, adds both. An event without a salt and with a digest has lost its details with its user.
enum AuditTable {
    fileprivate static let columns = "serial, time, kind, user_id, actor, request_id, details, salt, details_digest"

    static func insert(_ event: AuditEvent, in db: SQLSession) throws {
        let salt = RandomSource.system.bytes(AuditDetails.saltBytes)
        try db.perform(
            """
            INSERT INTO audit_events (time, kind, user_id, actor, request_id, details, salt, details_digest) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, event.time, event.kind.name, event.user, event.actor.name, event.requestID, event.details.json, salt,
            event.details.digest(salt: salt).bytes)
    }

    /// Erases the details of a user's events. Their digests stay, so that the seals still hold.
    static func eraseDetails(of user: UserID, in db: SQLSession) throws {
        let plain = try db.all(
            """
            SELECT serial, details FROM audit_events \
            WHERE user_id = ? AND details_digest IS NULL AND salt IS NULL
            """, user
        ) { (serial: $0.number(0), details: AuditDetails(recorded: try $0.text(1))) }
        for event in plain { try salt(event.serial, event.details, in: db) }
        try db.perform(
            """
            UPDATE audit_events SET details = '{}', salt = NULL \
            WHERE user_id = ? AND salt IS NOT NULL AND details_digest IS NOT NULL
            """, user)
    }

    fileprivate static func salt(_ serial: Int64, _ details: AuditDetails, in db: SQLSession) throws {
        let salt = RandomSource.system.bytes(AuditDetails.saltBytes)
        try db.perform(
            "UPDATE audit_events SET salt = ?, details_digest = ? WHERE serial = ? AND details_digest IS NULL", salt,
            details.digest(salt: salt).bytes, serial)
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
            SELECT \(columns) FROM audit_events \(filter)ORDER BY serial DESC LIMIT ?
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
        self.init(
            serial: row.number(0), event: event, salt: row.isNull(7) ? nil : row.blob(7),
            detailsDigest: row.isNull(8) ? nil : row.blob(8))
    }
}

extension SQLStore {
    package func addAuditEvent(_ event: AuditEvent) async throws(StorageError) {
        try await writes.submit { db in try AuditTable.insert(event, in: db) }
    }

    package func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent] {
        try await reads.submit { db in try AuditTable.events(query, in: db) }
    }

    package func auditEvents(
        after serial: Int64, through end: Int64, limit: Int
    ) async throws(StorageError) -> [RecordedAuditEvent] {
        // An inserted event may have the lowest number that there is.
        let isAfter = serial == .min ? ">=" : ">"
        return try await reads.submit { db in
            try db.all(
                SQL(
                    """
                    SELECT \(AuditTable.columns) FROM audit_events WHERE serial \(isAfter) ? AND serial <= ? \
                    ORDER BY serial LIMIT ?
                    """), serial, end, Int64(limit)
            ) { try RecordedAuditEvent($0) }
        }
    }

    package func saltAuditEvents(
        after serial: Int64, through end: Int64, limit: Int
    ) async throws(StorageError) {
        try await writes.submit { db in
            let events = try db.all(
                """
                SELECT serial, details, details_digest IS NULL AND salt IS NULL FROM audit_events \
                WHERE serial > ? AND serial <= ? ORDER BY serial LIMIT ?
                """, serial, end, Int64(limit)
            ) { (serial: $0.number(0), details: AuditDetails(recorded: try $0.text(1)), isPlain: $0.number(2) == 1) }
            for event in events where event.isPlain { try AuditTable.salt(event.serial, event.details, in: db) }
        }
    }
}
