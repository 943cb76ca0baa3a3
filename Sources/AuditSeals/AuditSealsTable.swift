package import Primitives
package import Storage
package import StorageModel

/// A stored seal of the audit log: a signed statement about a run of events.
///
/// Seals are numbered from 1 without gaps, and each names the digest of the one before. So a change, a removal or a
/// reordering of sealed events needs the key of every later seal.
package struct AuditSealRecord: Sendable, Hashable {
    package let number: Int64
    /// The serial of the last event that this seal or an earlier one covers.
    package let lastSerial: Int64
    /// The time of its latest event; the previous seal's time if it has none.
    package let time: Timestamp
    /// The statement as a compact JWS (RFC 7515).
    package let jws: String
    /// The sealed events, in order: ``AuditEntry/packed(_:)``. The statement has their digest. They tell which event
    /// was changed.
    package let entries: [UInt8]

    /// The digest that the next seal names: the SHA-256 of the statement.
    package var digest: AuditDigest { AuditDigest(sha256Of: Array(jws.utf8)) }
}

package struct AuditEntry: Sendable, Hashable {
    /// The length of a packed entry, in bytes.
    package static let packedBytes = 40

    package let serial: Int64
    package let digest: AuditDigest

    /// The bytes of some entries: for each, the serial (8 bytes, big-endian) and the digest (32 bytes).
    package static func packed(_ entries: [AuditEntry]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entries.count * packedBytes)
        for entry in entries {
            withUnsafeBytes(of: entry.serial.bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: entry.digest.bytes)
        }
        return bytes
    }

    /// Reads packed entries; nil if the length is not one of them.
    package static func unpacked(_ bytes: [UInt8]) -> [AuditEntry]? {
        guard bytes.count.isMultiple(of: packedBytes) else { return nil }
        return stride(from: 0, to: bytes.count, by: packedBytes).compactMap { start in
            let serial = bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return AuditDigest(stored: bytes[start + 8..<start + packedBytes]).map {
                AuditEntry(serial: Int64(bitPattern: serial), digest: $0)
            }
        }
    }
}

extension AuditSealRecord {
    fileprivate static let columns = "number, last_serial, time, jws, entries"

    fileprivate init(_ row: borrowing CachedStatement) throws {
        self.init(
            number: row.number(0), lastSerial: row.number(1), time: row.time(2), jws: try row.text(3),
            entries: row.blob(4))
    }
}

extension SQLStore {
    /// Gives a salt and the digest of the details to those of the first `limit` such events that have none, because a
    /// version without seals added them.
    package func saltAuditEvents(
        after serial: Int64, through end: Int64, limit: Int
    ) async throws(StorageError) {
        try await writes.submit { db in
            let events = try db.all(
                """
                SELECT serial, details, details_digest IS NULL AND salt IS NULL \
                AND kind NOT IN (\(AuditTable.kindsOfSessions)) FROM audit_events \
                WHERE serial > ? AND serial <= ? ORDER BY serial LIMIT ?
                """, serial, end, Int64(limit)
            ) { (serial: $0.number(0), details: AuditDetails(recorded: try $0.text(1)), isPlain: $0.number(2) == 1) }
            for event in events where event.isPlain { try AuditTable.salt(event.serial, event.details, in: db) }
        }
    }

    /// The seal with the highest number; nil if there is none.
    package func newestAuditSeal() async throws(StorageError) -> AuditSealRecord? {
        try await reads.submit { db in
            try db.first(SQL("SELECT \(AuditSealRecord.columns) FROM audit_seals ORDER BY number DESC LIMIT 1")) {
                try AuditSealRecord($0)
            }
        }
    }

    /// At most `limit` seals with numbers above `number`, in order. `Int64.min` is before all seals.
    package func auditSeals(after number: Int64, limit: Int) async throws(StorageError) -> [AuditSealRecord] {
        // An inserted seal may have the lowest number that there is.
        let isAfter = number == .min ? ">=" : ">"
        return try await reads.submit { db in
            try db.all(
                SQL(
                    """
                    SELECT \(AuditSealRecord.columns) FROM audit_seals WHERE number \(isAfter) ? ORDER BY number LIMIT ?
                    """),
                number, Int64(limit)
            ) { try AuditSealRecord($0) }
        }
    }

    /// Adds a seal. False if there is one with its number.
    package func addAuditSeal(_ seal: AuditSealRecord) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try db.run(
                """
                INSERT INTO audit_seals (number, last_serial, time, jws, entries) VALUES (?, ?, ?, ?, ?) \
                ON CONFLICT (number) DO NOTHING
                """, seal.number, seal.lastSerial, seal.time, seal.jws, seal.entries) > 0
        }
    }

    /// Removes the oldest seals with their events, while all events of a seal are from before a moment. The newest seal
    /// stays, and that of the newest event, so that their numbers are not given again. Ends after the seal with which
    /// `limit` rows were removed. Returns the number of removed rows.
    ///
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
                    AND number < (SELECT max(number) FROM audit_seals) \
                    AND last_serial < (SELECT max(serial) FROM audit_events)
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
