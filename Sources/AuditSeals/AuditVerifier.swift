package import Primitives
package import StorageModel

/// Compares an audit log with its seals, one seal after the other. Pure: it takes the rows and the time as arguments.
///
/// Each seal signs the digest of the one before. So the signature of the newest seal covers them all, and its key must
/// be one that the caller trusts. An earlier seal is signed with such a key, or with one that the next seal names: the
/// server had that key when it made the next seal. A forged log that a server goes on to seal is found this way,
/// because the server does not name the forger's key.
package struct AuditVerifier: Sendable {
    /// A seal that the administrator kept elsewhere.
    package struct Anchor: Sendable, Hashable {
        package let number: Int64
        package let digest: AuditDigest
    }

    /// A seal that was found valid.
    package struct Checked: Sendable, Hashable {
        package let seal: AuditSeal
        package let digest: AuditDigest
        /// The thumbprint of its key.
        package let signer: String
    }

    private let trusted: Set<String>
    private let anchor: Anchor?
    /// The first seal, and the newest one so far.
    package private(set) var first: Checked?
    package private(set) var newest: Checked?
    package private(set) var events: Int64 = 0
    /// How many events have lost their details with their users.
    package private(set) var erased: Int64 = 0
    private var shortestRetention = Int64.max
    /// The first event without details of each user whose erasure has not been found yet.
    private var withoutErasure: [UserID: (serial: Int64, seal: Int64)] = [:]
    /// The first event whose details did not match their digest when it was sealed. It is told last, so that it hides
    /// no other fault.
    private var mismatched: (serial: Int64, seal: Int64)?

    /// - Parameter trusted: The thumbprints of the server's own keys, and of those that the administrator vouches for.
    package init(trusted: Set<String>, anchor: Anchor? = nil) {
        self.trusted = trusted
        self.anchor = anchor
    }

    /// Checks the next seal.
    /// - Parameter stored: The events after the last one of the seal before, up to the last one of this seal, in order.
    package mutating func check(
        _ record: AuditSealRecord, events stored: [RecordedAuditEvent]
    ) throws(AuditError) {
        let number = record.number
        if let expected = newest.map({ $0.seal.number + 1 }), number != expected {
            throw AuditError("seal_missing", seal: expected, "seal \(expected) is missing")
        }
        guard let (seal, signer) = AuditSeal.read(record.jws), seal.number == number, seal.last == record.lastSerial,
            seal.time == record.time, AuditDigest(sha256Of: record.entries) == seal.entries,
            let entries = AuditEntry.unpacked(record.entries), Int64(entries.count) == seal.count
        else {
            throw AuditError(
                "seal_changed", seal: number,
                "seal \(number) was changed: its signature or the list of its events is not valid")
        }
        if let newest {
            // After a seal that was not the server's, the server does not repeat the time.
            let isForeign = seal.timeBefore == nil && !seal.keys.contains(newest.signer)
            guard seal.previous == newest.digest, seal.timeBefore == newest.seal.time || isForeign else {
                throw AuditError(
                    "seal_replaced", seal: number,
                    "seal \(number) does not follow the seal before it: one of them was replaced")
            }
            guard seal.keys.contains(newest.signer) || trusted.contains(newest.signer) else {
                throw .unknownKey(of: newest)
            }
        }
        if let anchor, anchor.number == number, anchor.digest != record.digest {
            throw AuditError(
                "unexpected_seal", seal: number,
                "seal \(number) has another digest than the expected one: \(record.digest)")
        }
        try compare(stored, with: entries, of: seal)
        let checked = Checked(seal: seal, digest: record.digest, signer: signer)
        if first == nil { first = checked }
        newest = checked
        events += seal.count
        shortestRetention = min(shortestRetention, seal.retention)
    }

    private mutating func compare(
        _ stored: [RecordedAuditEvent], with entries: [AuditEntry], of statement: AuditSeal
    ) throws(AuditError) {
        let seal = statement.number
        var rest = entries[...]
        for event in stored {
            let serial = event.serial
            guard let entry = rest.first, entry.serial <= serial else {
                throw AuditError(
                    "event_inserted", event: serial, seal: seal,
                    "event #\(serial) was inserted: seal \(seal) does not have it")
            }
            guard entry.serial == serial else { throw .eventMissing(entry.serial, seal: seal) }
            guard event.digest == entry.digest else {
                throw AuditError(
                    "event_changed", event: serial, seal: seal,
                    "event #\(serial) was changed after seal \(seal) was made")
            }
            if !event.matchesItsDigest {
                // The digest is as it was sealed.
                guard statement.mismatched.contains(serial) else {
                    throw AuditError(
                        "details_changed", event: serial, seal: seal,
                        "the details of event #\(serial) were changed after seal \(seal) was made")
                }
                if mismatched == nil { mismatched = (serial, seal) }
            }
            note(event, in: seal)
            rest.removeFirst()
        }
        if let entry = rest.first { throw .eventMissing(entry.serial, seal: seal) }
    }

    /// Notes an event after the newest seal, which may be the erasure of a user.
    package mutating func note(unsealed event: RecordedAuditEvent) { note(event, in: 0) }

    private mutating func note(_ event: RecordedAuditEvent, in seal: Int64) {
        guard let user = event.event.user else { return }
        if event.event.kind.erasesUser { withoutErasure[user] = nil }
        guard event.isErased, seal > 0 else { return }
        erased += 1
        if withoutErasure[user] == nil { withoutErasure[user] = (event.serial, seal) }
    }

    /// Checks what only the whole shows: whose the newest seal is, that nothing is missing before the first seal or
    /// after the newest, and that details were erased only with their users. Tells last of an event that no server
    /// wrote.
    /// - Parameter retention: How long events are kept now, in seconds. A shorter time of an earlier configuration,
    ///   which a seal names, excuses earlier removals.
    package func finish(at now: Timestamp, retention: Int64) throws(AuditError) {
        let last = newest?.seal.number ?? 0
        if let anchor, anchor.number > last {
            throw AuditError(
                "seal_missing", seal: last + 1,
                "seal \(last + 1) is missing: the log \(last == 0 ? "has no seal" : "ends at seal \(last)"), and "
                    + "--expect names seal \(anchor.number)")
        }
        if let (serial, seal) = withoutErasure.values.min(by: { $0.serial < $1.serial }) {
            throw AuditError(
                "details_erased", event: serial, seal: seal,
                "the details of event #\(serial), of seal \(seal), were erased, and no event says that its user was")
        }
        guard let first, let newest else { return }
        guard trusted.contains(newest.signer) else { throw .unknownKey(of: newest) }
        let end = now.advanced(bySeconds: -min(retention, shortestRetention))
        guard first.seal.number == 1 || first.seal.timeBefore.map({ $0 < end }) ?? false else {
            let seal = first.seal.number
            throw AuditError(
                "removed_early", seal: seal, "the seals before \(seal) were removed before their events expired")
        }
        if let (serial, seal) = mismatched {
            throw AuditError(
                "details_mismatched", event: serial, seal: seal,
                "the details of event #\(serial) did not match their digest before seal \(seal) was made: no server "
                    + "wrote them")
        }
    }

    /// Whether the kept seal has expired, so that it cannot be compared.
    package var anchorHasExpired: Bool {
        guard let anchor, let first else { return false }
        return anchor.number < first.seal.number
    }
}

/// What is wrong with the audit log: the first entry that is not as it was sealed.
package struct AuditError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name for programs.
    package let kind: String
    /// The number of the event, if one is wrong.
    package let serial: Int64?
    package let seal: Int64
    package let description: String

    fileprivate init(_ kind: String, event serial: Int64? = nil, seal: Int64, _ description: String) {
        self.kind = kind
        self.serial = serial
        self.seal = seal
        self.description = description
    }

    fileprivate static func eventMissing(_ serial: Int64, seal: Int64) -> Self {
        Self("event_missing", event: serial, seal: seal, "event #\(serial) is missing, and seal \(seal) has it")
    }

    /// Signed with a key that neither the server has nor the next seal names.
    fileprivate static func unknownKey(of checked: AuditVerifier.Checked) -> Self {
        let seal = checked.seal.number
        return Self(
            "unknown_key", seal: seal,
            "seal \(seal) is signed with the key \(checked.signer), which is not one of the server's keys. Compare it "
                + "with a key that you noted earlier, before you add --key")
    }
}
