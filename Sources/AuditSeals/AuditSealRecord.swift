package import Primitives

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
    package var digest: AuditDigest { AuditDigest(sha256Of: jws.utf8) }
}

/// A sealed event: its number and its digest.
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

/// How far the audit log could be sealed, and what must end before: transactions that may hold a lower serial.
///
/// PostgreSQL gives serials out before it commits, so an event with a lower serial than the highest may still appear.
/// SQLite has one writer, and nothing to wait for.
package struct AuditHorizon: Sendable, Hashable {
    /// The highest serial that can be seen.
    package let serial: Int64
    /// The transactions that may still add an event with a lower serial.
    package var open: Set<String> = []
}
