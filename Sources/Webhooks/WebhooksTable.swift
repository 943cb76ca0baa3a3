package import Primitives
package import Storage
package import StorageModel

/// A user for whom an endpoint has not taken an event: later events of the user wait for it.
package struct WebhookBacklog: Sendable, Hashable {
    /// Of the first event that was not delivered.
    package var serial: Int64
    /// How often it was sent in vain.
    package var attempts: Int
    package var dueAt: Timestamp
    /// When the user's first event was sent in vain, since no event waited.
    package var since: Timestamp
    /// Why it was not taken.
    package var error: String

    package init(serial: Int64, attempts: Int, dueAt: Timestamp, since: Timestamp, error: String) {
        self.serial = serial
        self.attempts = attempts
        self.dueAt = dueAt
        self.since = since
        self.error = error
    }
}

/// An endpoint's part in the database.
package struct WebhookRow: Sendable, Hashable {
    package let name: String
    package let salt: String
    /// The serial up to which every event was delivered, is not for the endpoint, or is of a user in the backlog.
    package let cursor: Int64
    package let generation: Int64
    package let holder: String?
    package let heldUntil: Timestamp
    package let seenAt: Timestamp
    package let delivered: Int64
    package let dropped: Int64
    package let deliveredAt: Timestamp?
    package let failedAt: Timestamp?
    package let error: String?
}

/// What an instance delivers, after it has taken an endpoint over.
package struct WebhookClaim: Sendable, Hashable {
    package let row: WebhookRow
    package let backlog: [UserID: WebhookBacklog]
    /// When an instance last had the endpoint before.
    package let before: Timestamp
}

/// What was done since the last time that it was stored.
package struct WebhookProgress: Sendable, Hashable {
    package var cursor: Int64
    /// The present rows of users whose row changed; nil for one that is gone.
    package var backlog: [UserID: WebhookBacklog?] = [:]
    package var delivered: Int64 = 0
    /// The events that are given up, and the serials of the first and the last.
    package var dropped: Int64 = 0
    package var droppedSerials: ClosedRange<Int64>?
    package var deliveredAt: Timestamp?
    package var failedAt: Timestamp?
    package var error: String?
}

extension WebhookRow {
    fileprivate static let columns = """
        name, salt, cursor, generation, holder, held_until, seen_at, delivered, dropped, delivered_at, failed_at, error
        """

    fileprivate init(_ row: borrowing CachedStatement) throws {
        self.init(
            name: try row.text(0), salt: try row.text(1), cursor: row.number(2), generation: row.number(3),
            holder: row.optionalText(4), heldUntil: row.time(5), seenAt: row.time(6), delivered: row.number(7),
            dropped: row.number(8), deliveredAt: row.optionalTime(9), failedAt: row.optionalTime(10),
            error: row.optionalText(11))
    }
}

extension WebhookRow {
    /// Whether an instance has it. A clock that was wrong does not hold it forever.
    package func isHeld(at now: Timestamp, _ seconds: Int64) -> Bool {
        holder != nil && heldUntil > now && heldUntil <= now.advanced(bySeconds: 2 * seconds)
    }
}

extension CachedStatement {
    fileprivate func optionalTime(_ column: CInt) -> Timestamp? { isNull(column) ? nil : time(column) }
}

extension SQLStore {
    /// Takes an endpoint over, unless another instance has it.
    /// - Parameters:
    ///   - salt: Of a new endpoint.
    ///   - beginning: A new endpoint gets the events from then on.
    ///   - seconds: How long the endpoint is held without a renewal.
    package func claimWebhook(
        _ name: String, salt: String, beginning: Timestamp, for holder: String, at now: Timestamp, seconds: Int64
    ) async throws(StorageError) -> WebhookClaim? {
        let until = now.advanced(bySeconds: seconds)
        let row = try await webhook(name)
        if let row, let other = row.holder, other != holder, row.isHeld(at: now, seconds) { return nil }
        return try await writes.submit { db in
            if row == nil {
                let cursor = try db.number(
                    "SELECT serial FROM audit_events WHERE time < ? ORDER BY serial DESC LIMIT 1", beginning)
                try db.perform(
                    """
                    INSERT INTO webhook_endpoints (name, salt, cursor, seen_at) VALUES (?, ?, ?, ?) \
                    ON CONFLICT (name) DO NOTHING
                    """, name, salt, cursor, now)
            }
            let before = try db.first("SELECT seen_at FROM webhook_endpoints WHERE name = ?", name) { $0.time(0) }
            // A clock that was wrong must not hold the endpoint forever.
            let count = try db.run(
                """
                UPDATE webhook_endpoints SET holder = ?, held_until = ?, seen_at = ? WHERE name = ? \
                AND (holder IS NULL OR holder = ? OR held_until <= ? OR held_until > ?)
                """, holder, until, now, name, holder, now, until.advanced(bySeconds: seconds))
            guard count == 1, let before else { return nil }
            let row = try db.first(SQL("SELECT \(WebhookRow.columns) FROM webhook_endpoints WHERE name = ?"), name) {
                try WebhookRow($0)
            }
            let backlog = try Self.backlog(of: name, in: db)
            return row.map { WebhookClaim(row: $0, backlog: backlog, before: before) }
        }
    }

    package func webhook(_ name: String) async throws(StorageError) -> WebhookRow? {
        try await reads.submit { db in
            try db.first(SQL("SELECT \(WebhookRow.columns) FROM webhook_endpoints WHERE name = ?"), name) {
                try WebhookRow($0)
            }
        }
    }

    package func webhookBacklog(_ name: String) async throws(StorageError) -> [UserID: WebhookBacklog] {
        try await reads.submit { db in try Self.backlog(of: name, in: db) }
    }

    private static func backlog(of name: String, in db: SQLSession) throws -> [UserID: WebhookBacklog] {
        let rows = try db.all(
            "SELECT user_id, serial, attempts, due_at, since, error FROM webhook_backlog WHERE endpoint = ?", name
        ) { row in
            let backlog = WebhookBacklog(
                serial: row.number(1), attempts: Int(clamping: row.number(2)), dueAt: row.time(3),
                since: row.time(4), error: try row.text(5))
            return (row.user(0), backlog)
        }
        return Dictionary(rows, uniquingKeysWith: { first, _ in first })
    }

    /// Stores what was done, and holds the endpoint for longer.
    /// - Returns: False if another instance has the endpoint by now, or an administrator has set it back: then nothing
    ///   was stored.
    package func commitWebhook(
        _ claim: WebhookRow, _ progress: WebhookProgress, for holder: String, at now: Timestamp, seconds: Int64
    ) async throws(StorageError) -> Bool {
        let until = now.advanced(bySeconds: seconds)
        let name = claim.name
        return try await writes.submit { db in
            let count = try db.run(
                """
                UPDATE webhook_endpoints SET cursor = ?, held_until = ?, seen_at = ?, delivered = delivered + ?, \
                dropped = dropped + ?, delivered_at = coalesce(?, delivered_at), failed_at = coalesce(?, failed_at), \
                error = coalesce(?, error) WHERE name = ? AND holder = ? AND generation = ?
                """, progress.cursor, until, now, progress.delivered, progress.dropped, progress.deliveredAt,
                progress.failedAt, progress.error, name, holder, claim.generation)
            guard count == 1 else { return false }
            for (user, row) in progress.backlog {
                guard let row else {
                    try db.perform("DELETE FROM webhook_backlog WHERE endpoint = ? AND user_id = ?", name, user)
                    continue
                }
                try db.perform(
                    """
                    INSERT INTO webhook_backlog (endpoint, user_id, serial, attempts, due_at, since, error) \
                    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (endpoint, user_id) DO UPDATE SET \
                    serial = excluded.serial, attempts = excluded.attempts, due_at = excluded.due_at, \
                    error = excluded.error
                    """, name, user, row.serial, Int64(row.attempts), row.dueAt, row.since, row.error)
            }
            if let serials = progress.droppedSerials {
                let details = AuditDetails { json in
                    json.add("endpoint", name)
                    json.add("events", progress.dropped)
                    json.add("first_serial", serials.lowerBound)
                    json.add("last_serial", serials.upperBound)
                }
                try AuditTable.insert(
                    AuditEvent(at: now, .webhookDropped, user: nil, by: .latchkey, details: details), in: db)
            }
            return true
        }
    }

    /// Lets another instance have the endpoint at once.
    package func releaseWebhook(_ name: String, of holder: String) async throws(StorageError) {
        try await writes.submit { db in
            try db.perform(
                "UPDATE webhook_endpoints SET holder = NULL, held_until = 0 WHERE name = ? AND holder = ?", name, holder
            )
        }
    }

    /// Has all events after a serial delivered again.
    /// - Returns: False if there is no such endpoint.
    package func replayWebhook(
        _ name: String, after serial: Int64, recording event: AuditEvent
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            let count = try db.run(
                """
                UPDATE webhook_endpoints SET generation = generation + 1, \
                cursor = CASE WHEN cursor < ?1 THEN cursor ELSE ?1 END WHERE name = ?2
                """, serial, name)
            guard count == 1 else { return false }
            // They come again, in order.
            try db.perform("DELETE FROM webhook_backlog WHERE endpoint = ? AND serial > ?", name, serial)
            try AuditTable.insert(event, in: db)
            return true
        }
    }

    /// Removes endpoints that no instance has had since a moment.
    package func purgeWebhooks(before end: Timestamp) async throws(StorageError) -> Int {
        try await writes.submit { db in
            try db.run("DELETE FROM webhook_endpoints WHERE seen_at < ?", end)
                + db.run("DELETE FROM webhook_backlog WHERE endpoint NOT IN (SELECT name FROM webhook_endpoints)")
        }
    }
}

/// Events of the audit log for webhooks.
extension SQLStore {
    private static let kinds = WebhookType.ofKinds.keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
    private static let select = """
        SELECT serial, audit_events.user_id, time, kind, actor, request_id, details, users.public_id \
        FROM audit_events LEFT JOIN users ON users.id = audit_events.user_id
        """
    private static let isSent = "audit_events.user_id IS NOT NULL AND kind IN (\(kinds))"
    private static let page = SQL("\(select) WHERE serial > ? AND serial <= ? AND \(isSent) ORDER BY serial LIMIT ?")
    private static let pageOfUser = SQL(
        """
        \(select) WHERE audit_events.user_id = ? AND serial > ? AND serial <= ? AND \(isSent) ORDER BY serial LIMIT ?
        """)

    /// At most `limit` events with serials above `serial`, up to `end`, in order.
    package func webhookEvents(
        of user: UserID? = nil, after serial: Int64, through end: Int64, limit: Int
    ) async throws(StorageError) -> [WebhookEvent] {
        try await reads.submit { db in
            let rows =
                if let user {
                    try db.all(Self.pageOfUser, user, serial, end, Int64(limit)) { try Self.event(in: $0) }
                } else {
                    try db.all(Self.page, serial, end, Int64(limit)) { try Self.event(in: $0) }
                }
            guard rows.contains(where: { $0.publicID == nil }) else { return rows }
            var erasures: [UserID: Erasure?] = [:]
            return try rows.map { event in
                guard event.publicID == nil else { return event }
                let erasure = try erasures[event.user] ?? Erasure(of: event.user, in: db)
                erasures[event.user] = erasure
                return erasure.map { $0.completed(event) } ?? event
            }
        }
    }

    private static func event(in row: borrowing CachedStatement) throws -> WebhookEvent {
        WebhookEvent(
            serial: row.number(0), user: row.user(1), time: row.time(2), kind: try row.text(3),
            actor: AuditEvent.Actor(name: try row.text(4)), requestID: row.optionalText(5),
            details: AuditDetails(recorded: try row.text(6)), publicID: row.optionalText(7))
    }

    /// How many events wait between two serials, counted up to a limit.
    package func countWebhookEvents(
        after serial: Int64, through end: Int64, limit: Int
    ) async throws(StorageError) -> Int {
        try await reads.submit { db in
            let query = "SELECT 1 FROM audit_events WHERE serial > ? AND serial <= ? AND \(Self.isSent) LIMIT ?"
            return Int(
                try db.number(SQL("SELECT count(*) FROM (\(query)) AS waiting"), serial, end, Int64(limit)))
        }
    }

    /// The serial before the first event of a moment or later; the highest serial if there is none.
    package func webhookSerial(before time: Timestamp) async throws(StorageError) -> Int64 {
        try await reads.submit { db in
            let first = try db.first(
                "SELECT serial FROM audit_events WHERE time >= ? ORDER BY serial LIMIT 1", time
            ) { $0.number(0) }
            return try first.map { $0 - 1 } ?? db.number("SELECT coalesce(max(serial), 0) FROM audit_events")
        }
    }
}

/// What the audit log keeps of an erased user.
private struct Erasure {
    let publicID: String
    let serial: Int64

    /// Nil if a version erased the user that did not record the public id.
    init?(of user: UserID, in db: SQLSession) throws {
        // With the condition of the index by user.
        let found = try db.first(
            SQL(
                """
                SELECT serial, details FROM audit_events WHERE user_id = ? AND \(AuditTable.mayLoseDetails) \
                AND kind IN ('user.erased', 'user.merged_away') ORDER BY serial DESC LIMIT 1
                """), user
        ) { (serial: $0.number(0), details: try $0.text(1)) }
        guard let found, let details = (try? JSONValue(parsing: Array(found.details.utf8)))?.object,
            let publicID = details["public_id"]?.string
        else { return nil }
        (self.publicID, serial) = (publicID, found.serial)
    }

    func completed(_ event: WebhookEvent) -> WebhookEvent {
        WebhookEvent(
            serial: event.serial, user: event.user, time: event.time, kind: event.kind, actor: event.actor,
            requestID: event.requestID, details: event.details, publicID: publicID, isErased: event.serial != serial)
    }
}

extension AuditEvent.Kind {
    /// Events were given up, because they became too old before an endpoint took them.
    package static let webhookDropped = AuditEvent.Kind("webhook.dropped")
    /// An administrator had events delivered again.
    package static let webhookReplayed = AuditEvent.Kind("webhook.replayed")
}
