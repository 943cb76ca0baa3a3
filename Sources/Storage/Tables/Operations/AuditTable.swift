package import Primitives
package import StorageModel

/// The table `audit_events`.
///
/// Code that changes an account inserts the event in the same transaction: no change without its event, no event
/// without its change.
///
/// An event has a salt and the digest of its details, unless a version without seals added it: then the sealing, or the
/// erasure of its user, adds both. An event without a salt and with a digest has lost its details with its user.
///
/// The beginning and the end of a session (``AuditEvent/Kind/ofSessions``) keep their details, and have neither.
package enum AuditTable {
    /// What ``RecordedAuditEvent/init(_:)`` reads.
    package static let columns = "serial, time, kind, user_id, actor, request_id, details, salt, details_digest"

    /// The condition of the events that may lose their details, and of the index by user.
    ///
    /// A sign-in would insert into the index at a random place, for what it hardly ever is read for. Versions up to 41
    /// salted its event.
    package static let mayLoseDetails = "(salt IS NOT NULL OR kind NOT IN (\(kindsOfSessions)))"

    /// The ``AuditEvent/Kind/ofSessions``, as a list in SQL.
    package static let kindsOfSessions = AuditEvent.Kind.ofSessions.map { "'\($0.name)'" }.joined(separator: ", ")

    package static func insert(_ event: AuditEvent, in db: SQLSession) throws {
        if event.kind.isOfSessions {
            return try db.perform(
                insertPlain, event.time, event.kind.name, event.user, event.actor.name, event.requestID,
                event.details.json)
        }
        let salt = RandomSource.system.bytes(AuditDetails.saltBytes)
        try db.perform(
            """
            INSERT INTO audit_events (time, kind, user_id, actor, request_id, details, salt, details_digest) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """, event.time, event.kind.name, event.user, event.actor.name, event.requestID, event.details.json, salt,
            event.details.digest(salt: salt))
    }

    private static let insertPlain = SQL.numbered(
        "INSERT INTO audit_events (time, kind, user_id, actor, request_id, details) VALUES (?, ?, ?, ?, ?, ?)")

    /// Erases the details of a user's events. Their digests stay, so that the seals still hold.
    package static func eraseDetails(of user: UserID, in db: SQLSession) throws {
        let plain = try db.all(
            """
            SELECT serial, details FROM audit_events \
            WHERE user_id = ? AND \(mayLoseDetails) AND details_digest IS NULL AND salt IS NULL
            """, user
        ) { (serial: $0.number(0), details: AuditDetails(recorded: try $0.text(1))) }
        for event in plain { try salt(event.serial, event.details, in: db) }
        try db.perform(
            """
            UPDATE audit_events SET details = '{}', salt = NULL \
            WHERE user_id = ? AND \(mayLoseDetails) AND salt IS NOT NULL AND details_digest IS NOT NULL
            """, user)
    }

    /// Gives an event that has none a salt and the digest of its details.
    package static func salt(_ serial: Int64, _ details: AuditDetails, in db: SQLSession) throws {
        let salt = RandomSource.system.bytes(AuditDetails.saltBytes)
        try db.perform(
            "UPDATE audit_events SET salt = ?, details_digest = ? WHERE serial = ? AND details_digest IS NULL", salt,
            details.digest(salt: salt), serial)
    }
}

extension RecordedAuditEvent {
    /// Reads ``AuditTable/columns``.
    package init(_ row: borrowing CachedStatement) throws {
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
        try await reads.submit { db in
            // A NULL condition is left out: the planner of SQLite would not use an index behind "? IS NULL OR".
            let filters: [(condition: String, value: (any SQLValue)?)] = [
                ("user_id = ?", query.user), ("kind = ?", query.kind?.name), ("time >= ?", query.since),
                ("time < ?", query.until), ("serial < ?", query.before),
            ].filter { $0.value != nil }
            var conditions = filters.map(\.condition)
            // The condition of the index by user. Without it, all events are read.
            if let kind = query.kind, query.user != nil, !kind.isOfSessions {
                conditions.append(AuditTable.mayLoseDetails)
            }
            let filter = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND ")) "
            var statement = try CachedStatement(
                db, "SELECT \(AuditTable.columns) FROM audit_events \(filter)ORDER BY serial DESC LIMIT ?")
            for (_, value) in filters { value?.bind(to: &statement) }
            statement.bind(Int64(min(max(query.limit, 1), 10_000)))
            var events: [RecordedAuditEvent] = []
            while try statement.next() { events.append(try RecordedAuditEvent(statement)) }
            return events
        }
    }

    package func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await inSteps(limit: limit) { step, db in
            // Along the primary keys: no index is for the time. A seal goes after its last event, because an event
            // without its seal looks inserted. The newest event and the newest seal stay, so that their numbers are not
            // given again.
            let events = try db.run(
                """
                DELETE FROM audit_events WHERE serial IN (SELECT serial FROM \
                (SELECT serial, time FROM audit_events ORDER BY serial LIMIT ?2) AS oldest WHERE time < ?1 \
                AND serial < (SELECT max(serial) FROM audit_events))
                """, before, Int64(step))
            return try events
                + db.run(
                    """
                    DELETE FROM audit_seals WHERE number IN (SELECT number FROM \
                    (SELECT number, time FROM audit_seals ORDER BY number LIMIT ?2) AS oldest WHERE time < ?1) \
                    AND number < (SELECT max(number) FROM audit_seals) \
                    AND last_serial < COALESCE((SELECT min(serial) FROM audit_events), 9223372036854775807)
                    """, before, Int64(step))
        }
    }
}
