import LatchkeyConfiguration
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import AuditSeals

/// Random edits of a long log, each of which must be found.
@Suite struct AuditEditTests {
    private static let retention: Int64 = 400 * 86_400
    /// Of events, and of edits.
    private static let count = AllRows.count(10_000, short: 2_000)

    /// The sealed log in memory.
    private struct Log {
        var seals: [AuditSealRecord] = []
        var events: [[RecordedAuditEvent]] = []
        /// The verifier before each seal.
        var verifiers: [AuditVerifier] = []
    }

    /// Some seals in order, with the events between them.
    private struct Window {
        let first: Int
        var seals: [AuditSealRecord]
        var events: [RecordedAuditEvent]
    }

    private func makeLog() async throws -> (Log, now: Timestamp) {
        let journal = try await AuditJournal(sealing: 32)
        try journal.addPlain(Self.count)
        try await journal.sealer.seal()
        var log = Log()
        log.seals = try await journal.store.auditSeals(after: 0, limit: 1000)
        let newest = try #require(log.seals.last)
        let protection = KeyProtection(keys: journal.configuration.encryptionKeys)
        let own = Set(
            try await journal.store.signingKeys().filter { SigningKey(of: $0, protection) != nil }.map(\.id))
        var verifier = AuditVerifier(
            trusted: own, anchor: AuditVerifier.Anchor(number: newest.number, digest: newest.digest))
        var last: Int64 = 0
        for seal in log.seals {
            log.verifiers.append(verifier)
            let events = try await journal.store.auditEvents(after: last, through: seal.lastSerial, limit: 1000)
            log.events.append(events)
            try verifier.check(seal, events: events)
            last = seal.lastSerial
        }
        try verifier.finish(at: journal.clock.now, retention: Self.retention)
        #expect(verifier.events == Int64(Self.count))
        try await journal.store.close()
        return (log, journal.clock.now)
    }

    /// What the verifier finds in a window of a log whose other parts are as they were; nil if it finds nothing.
    private func firstFault(_ window: Window, of log: Log, at now: Timestamp) -> AuditError? {
        var verifier = log.verifiers[window.first]
        var last = window.first == 0 ? 0 : log.seals[window.first - 1].lastSerial
        do throws(AuditError) {
            for seal in window.seals {
                let end = seal.lastSerial
                try verifier.check(seal, events: window.events.filter { $0.serial > last && $0.serial <= end })
                last = end
            }
            try verifier.finish(at: now, retention: Self.retention)
        } catch {
            return error
        }
        return nil
    }

    private static func change(
        _ event: RecordedAuditEvent, _ generator: inout SeededGenerator, other: RecordedAuditEvent
    ) -> RecordedAuditEvent {
        var (time, kind, user, actor) = (event.event.time, event.event.kind, event.event.user, event.event.actor)
        var (request, details) = (event.event.requestID, event.event.details)
        var (salt, digest) = (event.salt, event.detailsDigest)
        func flipped(_ bytes: [UInt8]?, _ generator: inout SeededGenerator) -> [UInt8]? {
            guard var bytes, !bytes.isEmpty else { return [0] }
            bytes[Int.random(in: bytes.indices, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            return bytes
        }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: time = time.advanced(bySeconds: Bool.random(using: &generator) ? 1 : -1)
        case 1: kind = AuditEvent.Kind(kind.name + "x")
        case 2: user = user.map { UserID($0.number + 1) }
        case 3: user = nil
        case 4: actor = .operating("pat")
        case 5: request = nil
        case 6: details = AuditDetails { $0.add("number", -1) }
        case 7: salt = flipped(salt, &generator)
        case 8: digest = flipped(digest, &generator)
        default: (details, salt, digest) = (other.event.details, other.salt, other.detailsDigest)
        }
        let changed = AuditEvent(at: time, kind, user: user, by: actor, requestID: request, details: details)
        return RecordedAuditEvent(serial: event.serial, event: changed, salt: salt, detailsDigest: digest)
    }

    private static func change(_ seal: AuditSealRecord, _ generator: inout SeededGenerator) -> AuditSealRecord {
        var (number, last, time) = (seal.number, seal.lastSerial, seal.time)
        var (jws, entries) = (Array(seal.jws.utf8), seal.entries)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: number += Bool.random(using: &generator) ? 1 : -1
        case 1: last -= 1
        case 2: time = time.advanced(bySeconds: 1)
        case 3:
            let index = Int.random(in: jws.indices, using: &generator)
            jws[index] = jws[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        default:
            entries[Int.random(in: entries.indices, using: &generator)] ^=
                1 << UInt8.random(in: 0..<8, using: &generator)
        }
        return AuditSealRecord(
            number: number, lastSerial: last, time: time, jws: String(decoding: jws, as: UTF8.self), entries: entries)
    }

    private static func moved(_ event: RecordedAuditEvent, to serial: Int64) -> RecordedAuditEvent {
        RecordedAuditEvent(
            serial: serial, event: event.event, salt: event.salt, detailsDigest: event.detailsDigest)
    }

    /// Edits a window at random.
    private static func edit(_ window: inout Window, _ generator: inout SeededGenerator) {
        let index = Int.random(in: window.events.indices, using: &generator)
        let other = index == 0 ? window.events.count - 1 : index - 1
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: window.events.remove(at: index)
        case 1:
            let pair = (window.events[index], window.events[other])
            window.events[index] = moved(pair.1, to: pair.0.serial)
            window.events[other] = moved(pair.0, to: pair.1.serial)
        case 2: window.events[index] = moved(window.events[other], to: window.events[index].serial)
        case 3: window.seals[0] = change(window.seals[0], &generator)
        case 4 where window.seals.count > 1:
            window.seals.swapAt(0, 1)
        case 4, 5: window.seals.removeFirst()
        default:
            window.events[index] = change(window.events[index], &generator, other: window.events[other])
        }
    }

    @Test("Each of thousands of random edits of a long log is found")
    func edits() async throws {
        let (log, now) = try await makeLog()
        var generator = SeededGenerator(seed: 21)
        var kinds: Set<String> = []
        for number in 0..<Self.count {
            let first = Int.random(in: log.seals.indices, using: &generator)
            let range = first..<min(first + 3, log.seals.count)
            var window = Window(
                first: first, seals: Array(log.seals[range]), events: Array(log.events[range].joined()))
            let before = (window.seals, window.events)
            Self.edit(&window, &generator)
            guard before != (window.seals, window.events) else { continue }
            // The rest of the log, which is as it was.
            let isLast = range.upperBound == log.seals.count
            guard let fault = firstFault(window, of: log, at: now),
                isLast || fault.kind != "seal_missing" || fault.seal != Int64(range.upperBound + 1)
            else {
                Issue.record("edit \(number) at seal \(first + 1) was not found")
                return
            }
            kinds.insert(fault.kind)
        }
        #expect(
            kinds.isSuperset(of: ["details_changed", "event_changed", "event_missing", "seal_changed", "seal_missing"]))
    }
}
