package import Primitives
package import StorageModel

/// How far the audit log can be seen, and what must end before it is complete: transactions that may hold a lower
/// serial.
///
/// PostgreSQL gives serials out before it commits, so an event with a lower serial than the highest may still appear.
/// SQLite has one writer, and nothing to wait for.
package struct AuditHorizon: Sendable, Hashable {
    /// The highest serial that can be seen.
    package let serial: Int64
    /// The transactions that may still add an event with a lower serial.
    package var open: Set<String> = []

    package init(serial: Int64, open: Set<String> = []) {
        self.serial = serial
        self.open = open
    }
}

/// Finds how far the audit log is complete, from one look at it after another, for a reader that takes each event once
/// and in the order of the serials.
package struct AuditTail: Sendable, Hashable {
    /// The first look whose open transactions have not all ended.
    package private(set) var waiting: AuditHorizon?
    /// The time of that look.
    package private(set) var waitsSince: Timestamp?

    package init() {}

    /// Takes the next look.
    /// - Returns: The serial up to which no event can appear any more; nil while that is not known.
    package mutating func advance(to present: AuditHorizon, at now: Timestamp) -> Int64? {
        let first = waiting ?? present
        let open = first.open.intersection(present.open)
        guard open.isEmpty else {
            waiting = AuditHorizon(serial: first.serial, open: open)
            waitsSince = waitsSince ?? now
            return nil
        }
        waiting = present.open.isEmpty ? nil : present
        waitsSince = present.open.isEmpty ? nil : now
        return present.open.isEmpty ? present.serial : first.serial
    }
}

extension SQLStore {
    /// At most `limit` events with serials above `serial`, up to `end`, in order. `Int64.min` is before all events.
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

    /// How far the events can be read in order.
    ///
    /// Reads the highest serial first, and the open transactions then: every transaction with a lower serial has ended,
    /// or is among them. Blocks no writer, unlike a lock of the table.
    package func auditHorizon() async throws(StorageError) -> AuditHorizon {
        try await reads.submit { db in
            let serial = try db.number("SELECT coalesce(max(serial), 0) FROM audit_events")
            guard db.isPostgres else { return AuditHorizon(serial: serial) }
            // Those that hold the lock of a writer on the events. PostgreSQL takes it before it gives a serial out, and
            // keeps it until the transaction has ended.
            let open = try db.all(
                """
                SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND granted \
                AND mode = 'RowExclusiveLock' AND relation = 'audit_events'::regclass \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
                AND pid IS DISTINCT FROM pg_backend_pid()
                """
            ) { try $0.text(0) }
            return AuditHorizon(serial: serial, open: Set(open))
        }
    }
}
