package import Logging
package import Primitives
package import StorageModel
import Synchronization

/// Seals the audit log: every few seconds the new events, so that a later change of any of them shows.
///
/// A seal covers many events for one signature. A chain link in each event would make the writers of all instances wait
/// for each other, and would prove nothing, because whoever can change rows can compute links again.
///
/// If several instances seal at once, the store accepts one seal of a number, and the others find it.
package final class AuditSealer: Sendable {
    private struct State: Sendable {
        /// The first look at the log whose open transactions have not all ended.
        var waiting: AuditHorizon?
        /// The newest seal that this process knows.
        var newest: AuditSealRecord?
        /// Events of the server itself that are not stored yet.
        var noted: [AuditEvent] = []
        var loggedAt: Timestamp?
        /// The number of the seal that was logged last.
        var logged: Int64 = 0
    }

    private static let pause = Duration.seconds(10)
    /// The most events of a seal: so many are removed in one transaction when they expire.
    package static let maximumEvents = 256
    /// The seconds between two log lines about the newest seal.
    private static let logPause: Int64 = 3600

    private let store: any AuditStore
    private let keys: SigningKeys
    private let retention: Int64
    private let maximumEvents: Int
    private let clock: WallClock
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter retention: How long events are kept.
    package init(
        store: any AuditStore, keys: SigningKeys, retention: Duration, maximumEvents: Int = AuditSealer.maximumEvents,
        clock: WallClock, logger: Logger
    ) {
        self.store = store
        self.keys = keys
        self.retention = retention.components.seconds
        self.maximumEvents = maximumEvents
        self.clock = clock
        self.logger = logger
    }

    /// Adds an event of the server itself, which belongs to no change in the store. It is stored before the next seal,
    /// so that nothing waits for the store.
    package func note(_ kind: AuditEvent.Kind, details: AuditDetails = AuditDetails()) {
        let event = AuditEvent(at: clock.now(), kind, user: nil, by: .latchkey, details: details)
        state.withLock { $0.noted.append(event) }
    }

    /// Runs until the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            await sealOrWarn()
            logNewest(atMost: Self.logPause)
            do {
                try await Task.sleep(for: Self.pause)
            } catch {
                return
            }
        }
    }

    /// Seals what is left, and logs the newest seal.
    package func finish() async {
        await sealOrWarn()
        logNewest(atMost: 0)
    }

    private func sealOrWarn() async {
        do throws(SignInError) {
            try await seal()
        } catch {
            // A server that stops closes the store, and has sealed before.
            guard !Task.isCancelled else { return }
            logger.warning("could not seal the audit log", metadata: ["error": "\(error.codeText)"])
        }
    }

    /// Seals the events that no transaction under way can come before.
    /// - Throws: `temporarily_unavailable`; `server_error` if no key can sign.
    package func seal() async throws(SignInError) {
        try await storeNoted()
        let end = try await safeEnd()
        while !Task.isCancelled, try await sealNext(through: end) {}
    }

    /// What cannot be stored now is stored later.
    private func storeNoted() async throws(SignInError) {
        var noted = state.withLock { state in
            defer { state.noted = [] }
            return state.noted
        }
        defer { state.withLock { $0.noted = noted + $0.noted } }
        while let event = noted.first {
            try await stored(await store.addAuditEvent(event))
            noted.removeFirst()
        }
    }

    /// The serial up to which no event can appear any more; 0 if that is not known yet.
    private func safeEnd() async throws(SignInError) -> Int64 {
        let present = try await stored(await store.auditHorizon())
        return state.withLock { state in
            let first = state.waiting ?? present
            let open = first.open.intersection(present.open)
            guard open.isEmpty else {
                state.waiting = AuditHorizon(serial: first.serial, open: open)
                return 0
            }
            state.waiting = present.open.isEmpty ? nil : present
            return present.open.isEmpty ? present.serial : first.serial
        }
    }

    /// Makes the next seal, if there is something to state. False if there is nothing; true if this or another sealer
    /// made a seal, after which more may be left.
    private func sealNext(through end: Int64) async throws(SignInError) -> Bool {
        let record = try await stored(await store.newestAuditSeal())
        note(record)
        let before = record.flatMap { AuditSeal.read($0.jws) }
        let events = try await events(after: record?.lastSerial ?? 0, through: end)
        let keys = try await keys.sealingKeys()
        guard let signer = keys.signer else { throw .internalFault }
        guard !events.isEmpty || isDue(after: record, before, keys, signer) else { return false }
        let entries = events.compactMap { event in
            event.digest.map { AuditEntry(serial: event.serial, digest: $0) }
        }
        // Whoever can change rows may have given the newest seal any number.
        guard entries.count == events.count, record?.number != .max else { throw .internalFault }
        let packed = AuditEntry.packed(entries)
        let now = clock.now()
        let seal = AuditSeal(
            number: (record?.number ?? 0) + 1, last: entries.last?.serial ?? record?.lastSerial ?? 0,
            count: Int64(entries.count), time: events.map(\.event.time).max() ?? record?.time ?? now,
            timeBefore: record?.time, sealedAt: now, retention: retention,
            entries: AuditDigest(sha256Of: packed), previous: record?.digest ?? .noSeal, keys: keys.own)
        let sealed = AuditSealRecord(
            number: seal.number, lastSerial: seal.last, time: seal.time, jws: try seal.signed(by: signer),
            entries: packed)
        if try await stored(await store.addAuditSeal(sealed)) { state.withLock { $0.newest = sealed } }
        return true
    }

    /// Whether a seal without events is needed: to name a new key; to name the former key once more after the new one
    /// has begun to sign, and before the former one is removed; or to let the last events expire, whose seal must not
    /// be the newest then.
    private func isDue(
        after record: AuditSealRecord?, _ before: (seal: AuditSeal, signer: String)?, _ keys: SealingKeys,
        _ signer: SigningKey
    ) -> Bool {
        guard let record, let before else { return false }
        return !Set(keys.own).isSubset(of: before.seal.keys)
            || (before.signer != signer.id && keys.own.contains(before.signer))
            || (!record.entries.isEmpty && record.time < clock.now().advanced(bySeconds: -retention))
    }

    private func events(after serial: Int64, through end: Int64) async throws(SignInError) -> [RecordedAuditEvent] {
        let limit = maximumEvents
        let found = try await stored(await store.auditEvents(after: serial, through: end, limit: limit))
        guard found.contains(where: { $0.detailsDigest == nil }) else { return found }
        try await stored(await store.saltAuditEvents(after: serial, through: end, limit: limit))
        return try await stored(await store.auditEvents(after: serial, through: end, limit: limit))
    }

    /// Remembers the newest seal, and tells of one that is gone.
    private func note(_ record: AuditSealRecord?) {
        let known = state.withLock { state in
            defer { state.newest = record }
            return state.newest
        }
        let number = record?.number ?? 0
        guard let known, number < known.number || (number == known.number && record?.digest != known.digest) else {
            return
        }
        logger.error(
            "a seal of the audit log was removed or changed; compare with the log and with a backup",
            metadata: ["number": "\(known.number)", "digest": "\(known.digest)"])
    }

    /// Logs number and digest of the newest seal, so that whoever collects the log can tell if it is gone.
    private func logNewest(atMost pause: Int64) {
        let now = clock.now()
        let due = state.withLock { state -> AuditSealRecord? in
            guard let newest = state.newest, newest.number != state.logged,
                state.loggedAt.map({ $0.advanced(bySeconds: pause) <= now }) ?? true
            else { return nil }
            (state.loggedAt, state.logged) = (now, newest.number)
            return newest
        }
        guard let due else { return }
        logger.info("audit log sealed", metadata: ["number": "\(due.number)", "digest": "\(due.digest)"])
    }
}
