package import ArgumentParser
package import LatchkeyConfiguration
package import LatchkeyService
package import Logging
package import Primitives
package import SignIn
package import Storage
package import StorageModel
import Synchronization

/// Seals the audit log while the service runs, and once more at its end.
package final class AuditSealsFeature: Feature {
    private struct State {
        /// From ``attach(to:)`` on.
        var sealer: AuditSealer?
        /// From the start to the shutdown.
        var sealing: Task<Void, Never>?
    }

    private let store: SQLStore
    private let retention: Duration
    private let clock: WallClock
    private let logger: Logger
    private let state = Mutex(State())

    package init(_ settings: NoSettings, in context: FeatureContext) {
        store = context.store
        retention = context.configuration.auditRetention
        clock = context.clock
        logger = context.logger
    }

    package static func subcommands(of command: String) -> [any ParsableCommand.Type] {
        command == "audit" ? [VerifyAuditCommand.self, ExportAuditCommand.self] : []
    }

    package func attach(to service: LatchkeyService) {
        let sealer = AuditSealer(
            store: store, keys: service.useCases.signingKeys, retention: retention, clock: clock, logger: logger)
        state.withLock { $0.sealer = sealer }
    }

    package func start() {
        state.withLock { state in
            state.sealing = Task { [sealer = state.sealer] in await sealer?.run() }
        }
    }

    /// Seals go with their events, and an event only with its seal: the log stays whole while no server seals it.
    package func purge(at now: Timestamp, limit: Int) async throws(StorageError) -> Int {
        try await store.purgeAuditSeals(
            from: now.advanced(bySeconds: -retention.components.seconds), limit: limit)
    }

    package var removesAuditEvents: Bool { true }

    package func shutdown() async {
        let (sealer, sealing) = state.withLock { ($0.sealer, $0.sealing) }
        sealing?.cancel()
        // The last seal waits for open transactions, so the periodic sealing must have ended its own.
        await sealing?.value
        await sealer?.finish()
    }
}

/// Seals the audit log: every few seconds the new events, so that a later change of any of them shows.
///
/// A seal covers many events for one signature. A chain link in each event would make the writers of all instances wait
/// for each other, and would prove nothing: an attacker who can change rows can compute links again.
///
/// If several instances seal at once, the store accepts one seal of a number, and the others find it.
package final class AuditSealer: Sendable {
    private struct State: Sendable {
        var tail = AuditTail()
        /// When the last log line about a long wait was written.
        var warnedAt: Timestamp?
        /// The number of the last seal that an error in the log names.
        var blamed: Int64?
        /// The newest seal that this process knows.
        var newest: AuditSealRecord?
        var loggedAt: Timestamp?
        /// The number of the seal that was logged last.
        var logged: Int64 = 0
    }

    /// The newest seal if one of the server's keys signed it, and its signer.
    private typealias OwnSeal = (seal: AuditSeal, signer: String)
    /// How far the log is read: the serial up to which no event can appear any more, which is 0 if that is not known
    /// yet, and the highest serial that can be seen.
    private typealias Reach = (end: Int64, highest: Int64)
    private typealias OwnKeys = (ids: [String], signer: SigningKey)

    private static let pause = Duration.seconds(10)
    /// The most events of a seal: so many are removed in one transaction when they expire. A signature costs as much
    /// as the digests of some fifty events.
    package static let maximumEvents = 1_024
    /// The seconds between two log lines about the newest seal.
    private static let logPause: Int64 = 3600
    /// The seconds that transactions may delay the sealing without a log line, and those between two such lines.
    private static let longWait: Int64 = 300

    private let store: SQLStore
    private let keys: SigningKeys
    private let retention: Int64
    private let maximumEvents: Int
    private let clock: WallClock
    private let logger: Logger
    private let state = Mutex(State())

    package init(
        store: SQLStore, keys: SigningKeys, retention: Duration, maximumEvents: Int = AuditSealer.maximumEvents,
        clock: WallClock, logger: Logger
    ) {
        self.store = store
        self.keys = keys
        self.retention = retention.components.seconds
        self.maximumEvents = maximumEvents
        self.clock = clock
        self.logger = logger
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
        let reach = try await reach()
        while !Task.isCancelled, try await sealNext(reach) {}
    }

    /// How far the log can be sealed now. A transaction that stays open keeps all events from being sealed, and a
    /// warning tells of it.
    private func reach() async throws(SignInError) -> Reach {
        let present = try await mappingStoreErrors(await store.auditHorizon())
        let now = clock.now()
        let (end, late) = state.withLock { state -> (Int64, AuditTail?) in
            if let end = state.tail.advance(to: present, at: now) { return (end, nil) }
            let isLate = state.tail.waitsSince.map { Self.hasPassed(since: $0, now) } ?? false
            guard isLate, state.warnedAt.map({ Self.hasPassed(since: $0, now) }) ?? true else { return (0, nil) }
            state.warnedAt = now
            return (0, state.tail)
        }
        if let late, let since = late.waitsSince {
            logger.warning(
                "a transaction on audit_events stays open; no event is sealed until it ends",
                metadata: [
                    "seconds": "\(now.seconds(since: since))",
                    "transactions": "\(late.waiting?.open.sorted().joined(separator: " ") ?? "")",
                ])
        }
        return (end, present.serial)
    }

    private static func hasPassed(since time: Timestamp, _ now: Timestamp) -> Bool {
        time.advanced(bySeconds: longWait) <= now
    }

    /// Makes the next seal, if there is something to state. False if there is nothing; true if this or another sealer
    /// made a seal, after which more may be left.
    ///
    /// What the seal before states is taken from its signed text: an attacker who can change rows can change columns.
    private func sealNext(_ reach: Reach) async throws(SignInError) -> Bool {
        let record = try await mappingStoreErrors(await store.newestAuditSeal())
        note(record)
        let keys = try await keys.own()
        let before = record.flatMap { Self.own($0, keys) }
        if let record { blame(record, before?.seal) }
        // A foreign seal that claims events of the future must not keep them from being sealed.
        let last = before?.seal.last ?? min(record?.lastSerial ?? 0, reach.highest)
        let events = try await events(after: last, through: reach.end)
        guard !events.isEmpty || isDue(after: record, before, keys) else { return false }
        let entries = events.compactMap { event in
            event.digest.map { AuditEntry(serial: event.serial, digest: $0) }
        }
        // An attacker who can change rows may have given the newest seal any number.
        guard entries.count == events.count, record?.number != .max else { throw .internalFault }
        let packed = AuditEntry.packed(entries)
        let now = clock.now()
        let seal = AuditSeal(
            number: max(record?.number ?? 0, 0) + 1, last: entries.last?.serial ?? last, count: Int64(entries.count),
            time: record == nil || before != nil ? Self.time(of: events, after: before?.seal, now) : now,
            timeBefore: before?.seal.time, sealedAt: now, retention: retention,
            entries: AuditDigest(sha256Of: packed), previous: record?.digest ?? .noSeal, keys: keys.ids,
            mismatched: events.filter { !$0.matchesItsDigest }.map(\.serial))
        let sealed = AuditSealRecord(
            number: seal.number, lastSerial: seal.last, time: seal.time, jws: try seal.signed(by: keys.signer),
            entries: packed)
        guard try await mappingStoreErrors(await store.addAuditSeal(sealed)) else { return true }
        state.withLock { $0.newest = sealed }
        for serial in seal.mismatched {
            logger.error(
                "an event of the audit log was sealed whose details do not match their digest; no server wrote it so",
                metadata: ["serial": "\(serial)", "number": "\(seal.number)"])
        }
        return true
    }

    /// The signed text of a seal; nil if none of the server's keys signed it, or if its number differs.
    private static func own(_ record: AuditSealRecord, _ keys: OwnKeys) -> OwnSeal? {
        guard let read = AuditSeal.read(record.jws), read.seal.number == record.number, keys.ids.contains(read.signer)
        else { return nil }
        return read
    }

    /// The time of a seal: its latest event's, but never after now, and never before the previous seal's. So
    /// an inserted event lets nothing expire early, and does not end the expiry.
    private static func time(
        of events: [RecordedAuditEvent], after before: AuditSeal?, _ now: Timestamp
    ) -> Timestamp {
        let latest = events.map(\.event.time).max().map { min($0, now) }
        return [before?.time, latest].compactMap(\.self).max() ?? now
    }

    /// Tells once of a newest seal that is not the server's own, or whose columns differ from what it states.
    private func blame(_ record: AuditSealRecord, _ own: AuditSeal?) {
        if let own, own.last == record.lastSerial, own.time == record.time { return }
        let isKnown = state.withLock { state in
            defer { state.blamed = record.number }
            return state.blamed == record.number
        }
        guard !isKnown else { return }
        logger.error(
            own == nil
                ? "the newest seal of the audit log is not signed with a key of this server; run latchkey audit verify"
                : "the row of the newest seal of the audit log was changed; run latchkey audit verify",
            metadata: ["number": "\(record.number)"])
    }

    /// Whether a seal without events is needed: to follow a foreign seal; to name a new key; or to name the former key
    /// once more after the new one has begun to sign, and before the former one is removed.
    private func isDue(
        after record: AuditSealRecord?, _ before: OwnSeal?, _ keys: OwnKeys
    ) -> Bool {
        guard let before else { return record != nil }
        return !Set(keys.ids).isSubset(of: before.seal.keys)
            || (before.signer != keys.signer.id && keys.ids.contains(before.signer))
    }

    private func events(after serial: Int64, through end: Int64) async throws(SignInError) -> [RecordedAuditEvent] {
        let limit = maximumEvents
        let found = try await mappingStoreErrors(await store.auditEvents(after: serial, through: end, limit: limit))
        guard !found.allSatisfy(\.hasDigest) else { return found }
        try await mappingStoreErrors(await store.saltAuditEvents(after: serial, through: end, limit: limit))
        return try await mappingStoreErrors(await store.auditEvents(after: serial, through: end, limit: limit))
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

    /// Logs number and digest of the newest seal, so that a reader of the log can tell if it is gone.
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
