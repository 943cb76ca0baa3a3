package import Primitives
package import StorageModel

/// The table `audit_seals`, and what its rows need of `audit_events`.
enum AuditSealsTable {
    /// The condition of an update that leaves the event as it was: it adds a salt and the digest of the details to an
    /// event of a version without seals, or it erases the details.
    private static let isAllowed = """
        NEW.serial IS NOT DISTINCT FROM OLD.serial AND NEW.time IS NOT DISTINCT FROM OLD.time
        AND NEW.kind IS NOT DISTINCT FROM OLD.kind AND NEW.user_id IS NOT DISTINCT FROM OLD.user_id
        AND NEW.actor IS NOT DISTINCT FROM OLD.actor AND NEW.request_id IS NOT DISTINCT FROM OLD.request_id
        AND ((OLD.salt IS NULL AND OLD.details_digest IS NULL AND NEW.salt IS NOT NULL
                AND NEW.details_digest IS NOT NULL AND NEW.details = OLD.details)
            OR (OLD.salt IS NOT NULL AND NEW.salt IS NULL AND NEW.details = '{}'
                AND OLD.details_digest IS NOT NULL AND NEW.details_digest IS NOT DISTINCT FROM OLD.details_digest))
        """

    // The new columns are NULL in the rows of earlier versions, so that the migration writes no row.
    //
    // Several instances may make a seal at the same time: the primary key lets one of them have the number.
    static let schema = """
        ALTER TABLE audit_events ADD COLUMN salt BLOB;
        ALTER TABLE audit_events ADD COLUMN details_digest BLOB;
        CREATE TABLE audit_seals (
            number INTEGER PRIMARY KEY,
            last_serial INTEGER NOT NULL,
            time INTEGER NOT NULL,
            jws TEXT NOT NULL,
            entries BLOB NOT NULL
        ) STRICT;
        """
    static let guards = """
        DROP TRIGGER audit_events_stay_as_they_are;
        CREATE TRIGGER audit_events_stay_as_they_are BEFORE UPDATE ON audit_events
        WHEN NOT (\(isAllowed))
        BEGIN
            SELECT RAISE(ABORT, 'audit events are never changed');
        END;
        CREATE TRIGGER audit_seals_stay_as_they_are BEFORE UPDATE ON audit_seals
        BEGIN
            SELECT RAISE(ABORT, 'audit seals are never changed');
        END;
        """
    static let guardsOnPostgres = """
        CREATE OR REPLACE FUNCTION audit_events_stay_as_they_are() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN
            IF \(isAllowed) THEN RETURN NEW; END IF;
            RAISE EXCEPTION 'audit events are never changed' USING ERRCODE = 'restrict_violation';
        END$$;
        CREATE FUNCTION audit_seals_stay_as_they_are() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE EXCEPTION 'audit seals are never changed' USING ERRCODE = 'restrict_violation'; END$$;
        CREATE TRIGGER audit_seals_stay_as_they_are BEFORE UPDATE ON audit_seals
        FOR EACH ROW EXECUTE FUNCTION audit_seals_stay_as_they_are();
        """

    fileprivate static let columns = "number, last_serial, time, jws, entries"

    /// The transactions that hold the lock of a writer on the events. PostgreSQL takes it before it gives a serial out,
    /// and keeps it until the transaction has ended.
    fileprivate static let openTransactions: SQL = """
        SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND granted \
        AND mode = 'RowExclusiveLock' AND relation = 'audit_events'::regclass \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        AND pid IS DISTINCT FROM pg_backend_pid()
        """
}

extension AuditSealRecord {
    fileprivate init(_ row: borrowing CachedStatement) throws {
        self.init(
            number: row.number(0), lastSerial: row.number(1), time: row.time(2), jws: try row.text(3),
            entries: row.blob(4))
    }
}

extension SQLStore {
    /// Reads the highest serial first, and the open transactions then: every transaction with a lower serial has ended,
    /// or is among them. Blocks no writer, unlike a lock of the table.
    package func auditHorizon() async throws(StorageError) -> AuditHorizon {
        try await reads.submit { db in
            let serial = try db.number("SELECT coalesce(max(serial), 0) FROM audit_events")
            guard db.isPostgres else { return AuditHorizon(serial: serial) }
            return AuditHorizon(
                serial: serial, open: Set(try db.all(AuditSealsTable.openTransactions) { try $0.text(0) }))
        }
    }

    package func newestAuditSeal() async throws(StorageError) -> AuditSealRecord? {
        try await reads.submit { db in
            try db.first(SQL("SELECT \(AuditSealsTable.columns) FROM audit_seals ORDER BY number DESC LIMIT 1")) {
                try AuditSealRecord($0)
            }
        }
    }

    package func auditSeals(after number: Int64, limit: Int) async throws(StorageError) -> [AuditSealRecord] {
        // An inserted seal may have the lowest number that there is.
        let isAfter = number == .min ? ">=" : ">"
        return try await reads.submit { db in
            try db.all(
                SQL(
                    """
                    SELECT \(AuditSealsTable.columns) FROM audit_seals WHERE number \(isAfter) ? ORDER BY number LIMIT ?
                    """),
                number, Int64(limit)
            ) { try AuditSealRecord($0) }
        }
    }

    package func addAuditSeal(_ seal: AuditSealRecord) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try db.run(
                """
                INSERT INTO audit_seals (number, last_serial, time, jws, entries) VALUES (?, ?, ?, ?, ?) \
                ON CONFLICT (number) DO NOTHING
                """, seal.number, seal.lastSerial, seal.time, seal.jws, seal.entries) > 0
        }
    }

    /// A seal and its events go in one transaction, so that an interruption leaves no seal without its events. A seal
    /// has some hundreds of events at most.
    package func purgeAuditSeals(from before: Timestamp, limit: Int) async throws(StorageError) -> Int {
        var removed = 0
        while removed < limit {
            let count = try await writes.submit { db -> Int in
                let oldest = try db.first(
                    """
                    SELECT number, last_serial FROM audit_seals \
                    WHERE number = (SELECT min(number) FROM audit_seals) AND time < ? \
                    AND number < (SELECT max(number) FROM audit_seals)
                    """, before
                ) { (number: $0.number(0), lastSerial: $0.number(1)) }
                guard let oldest else { return 0 }
                return try db.run("DELETE FROM audit_events WHERE serial <= ?", oldest.lastSerial)
                    + db.run("DELETE FROM audit_seals WHERE number = ?", oldest.number)
            }
            if count == 0 { break }
            removed += count
        }
        return removed
    }
}
