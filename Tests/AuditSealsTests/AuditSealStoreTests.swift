import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import AuditSeals
@testable import PostgreSQL

/// The statements of the seals, on each engine.
@Suite struct AuditSealStoreTests {
    enum Kind: CaseIterable, Sendable {
        case sqlite
        case postgres

        /// An empty store, and an object that must outlive it.
        func open() throws -> (store: SQLStore, holding: any Sendable) {
            switch self {
            case .sqlite:
                let directory = try TemporaryDirectory()
                return (try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db"))), directory)
            case .postgres:
                let configuration = PostgresConfiguration(
                    url: Secret(try PostgresCluster.shared().makeSchema()), poolSize: 4)
                return (try configuration.open(observer: nil), configuration)
            }
        }
    }

    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let erased = AuditEvent.Kind("user.erased")

    /// Five events, a minute apart.
    private static let events = (0..<5).map { minute in
        AuditEvent(
            at: now.advanced(bySeconds: minute * 60), AuditEvent.Kind("test.done"), user: UserID(minute % 2 + 1),
            by: .operating("pat"), requestID: "request-\(minute)",
            details: AuditDetails { json in json.add("minute", minute) })
    }

    private func filled(_ kind: Kind) async throws -> (SQLStore, any Sendable) {
        let (store, holding) = try kind.open()
        for event in Self.events { try await store.addAuditEvent(event) }
        return (store, holding)
    }

    private static func seal(_ number: Int64, _ lastSerial: Int64, _ time: Timestamp) -> AuditSealRecord {
        AuditSealRecord(number: number, lastSerial: lastSerial, time: time, jws: "a.b.\(number)", entries: [0, 1, 255])
    }

    @Test("Seals are read unchanged, in order; of two with one number the first stays", arguments: Kind.allCases)
    func seals(kind: Kind) async throws {
        let (store, holding) = try await filled(kind)
        #expect(try await store.newestAuditSeal() == nil)
        let seals = (1...3).map { Self.seal($0, $0 * 2, Self.events[Int($0)].time) }
        for seal in seals { #expect(try await store.addAuditSeal(seal)) }
        #expect(try await !store.addAuditSeal(Self.seal(3, 9, Self.now)))
        #expect(try await store.newestAuditSeal() == seals[2])
        #expect(try await store.auditSeals(after: 0, limit: 2) == Array(seals[..<2]))
        #expect(try await store.auditSeals(after: 2, limit: 2) == [seals[2]])
        withExtendedLifetime(holding) {}
    }

    @Test("An event has a salt and the digest of its details", arguments: Kind.allCases)
    func salted(kind: Kind) async throws {
        let (store, holding) = try await filled(kind)
        let events = try await store.auditEvents(after: 0, through: .max, limit: 100)
        #expect(events.map(\.event) == Self.events)
        #expect(events.allSatisfy { $0.matchesItsDigest && $0.digest != nil && !$0.isErased })
        #expect(Set(events.map(\.salt)).count == 5)
        #expect(
            try await store.auditEvents(after: events[1].serial, through: events[3].serial, limit: 1) == [events[2]])
        #expect(
            try await store.auditEvents(after: events[1].serial, through: events[3].serial, limit: 9)
                == [events[2], events[3]])
        #expect(try await store.auditHorizon() == AuditHorizon(serial: events[4].serial))
        withExtendedLifetime(holding) {}
    }

    @Test("The bytes of an event's digest are the documented ones")
    func digest() throws {
        let event = AuditEvent(
            at: Timestamp(secondsSinceEpoch: 1_800_000_000), Self.erased, user: UserID(7), by: .user,
            details: AuditDetails(recorded: "{}"))
        let salt = [UInt8](repeating: 1, count: 16)
        // (printf '\001%.0s' $(seq 16); printf '{}') | sha256sum
        let details = event.details.digest(salt: salt)
        #expect(details.hexadecimal == "d355d911d2f26a54dc0366196d99e2ffef085bb9edf7a495a342ea52c2a4c2f3")
        let recorded = RecordedAuditEvent(serial: 42, event: event, salt: salt, detailsDigest: details)
        // printf '22:latchkey audit event 1,2:42,10:1800000000,11:user.erased,1:7,4:user,-64:…,' | sha256sum
        #expect(recorded.digest?.description == "b93e158e74123faa1d5ec0e41a8eb8481a31c8742bb63f12deede8d3bb2b73a6")
    }

    @Test(
        "The details of a sign-in have no salt, stay when the user is erased, and are sealed", arguments: Kind.allCases)
    func plain(kind: Kind) async throws {
        let (store, holding) = try kind.open()
        let details = AuditDetails(recorded: #"{"session_id":"s"}"#)
        let kinds = AuditEvent.Kind.ofSessions + [AuditEvent.Kind("test.done")]
        for kind in kinds {
            try await store.addAuditEvent(AuditEvent(at: Self.now, kind, user: UserID(1), by: .user, details: details))
        }
        let added = try await store.auditEvents(after: 0, through: .max, limit: 9)
        try await store.saltAuditEvents(after: 0, through: .max, limit: 9)
        try await store.writes.submit { db in try AuditTable.eraseDetails(of: UserID(1), in: db) }
        let events = try await store.auditEvents(after: 0, through: .max, limit: 9)
        #expect(Array(events.prefix(2)) == Array(added.prefix(2)))
        #expect(events.map(\.salt) == [nil, nil, nil])
        #expect(events.map(\.event.details) == [details, details, AuditDetails()])
        #expect(events.map(\.isErased) == [false, false, true])
        // printf '{"session_id":"s"}' | sha256sum
        let digest = "f352f3001468c4e837240ca5714239468d614ec48ca47016bd69f2c64ad5fd8d"
        #expect(events.prefix(2).allSatisfy { $0.detailsDigest?.hexadecimal == digest && $0.digest != nil })
        #expect(events.map(\.matchesItsDigest) == [true, true, true])
        withExtendedLifetime(holding) {}
    }

    @Test(
        "Seals are removed with their events, the oldest first, up to a limit; numbers are never reused",
        arguments: Kind.allCases)
    func retention(kind: Kind) async throws {
        let (store, holding) = try await filled(kind)
        let serials = try await store.auditEvents(after: 0, through: .max, limit: 10).map(\.serial)
        let end = Self.events[4].time.advanced(bySeconds: 1)
        #expect(try await store.purgeAuditSeals(from: end, limit: 500) == 0, "nothing is sealed")
        for (number, index) in [(1, 1), (2, 2), (3, 4)] {
            _ = try await store.addAuditSeal(Self.seal(Int64(number), serials[index], Self.events[index].time))
        }
        #expect(try await store.purgeAuditSeals(from: Self.events[1].time, limit: 500) == 0)
        #expect(try await store.purgeAuditSeals(from: Self.events[3].time, limit: 2) == 3)
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [4, 3, 2].map { Self.events[$0] })
        #expect(try await store.purgeAuditSeals(from: Self.events[3].time, limit: 500) == 2)
        #expect(try await store.purgeAuditSeals(from: end, limit: 500) == 0, "the newest seal stays")
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [4, 3].map { Self.events[$0] })
        _ = try await store.addAuditSeal(Self.seal(4, serials[4], Self.events[4].time))
        #expect(try await store.purgeAuditSeals(from: end, limit: 500) == 0, "the newest event stays")
        try await store.addAuditEvent(Self.events[0])
        #expect(try await store.purgeAuditSeals(from: end, limit: 500) == 3)
        #expect(try await store.auditEvents(AuditQuery()).map(\.serial) == [serials[4] + 1])
        withExtendedLifetime(holding) {}
    }

    @Test(
        "A server without the sealing removes events by their age, and the seals of that time but the newest",
        arguments: Kind.allCases)
    func unsealed(kind: Kind) async throws {
        let (store, holding) = try await filled(kind)
        let serials = try await store.auditEvents(after: 0, through: .max, limit: 10).map(\.serial)
        for (number, index) in [(1, 0), (2, 2), (3, 3)] {
            #expect(try await store.addAuditSeal(Self.seal(Int64(number), serials[index], Self.events[index].time)))
        }
        #expect(try await store.purgeAuditEvents(from: Self.events[4].time, limit: 1) == 2)
        #expect(try await store.purgeAuditEvents(from: Self.events[4].time, limit: 1) == 1)
        #expect(try await store.auditSeals(after: .min, limit: 9).map(\.number) == [2, 3], "it has an event left")
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [4, 3, 2].map { Self.events[$0] })
        #expect(try await store.auditSeals(after: .min, limit: 9).map(\.number) == [2, 3])
        let end = Self.events[4].time.advanced(bySeconds: 1)
        #expect(try await store.purgeAuditEvents(from: end, limit: 500) == 3)
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [Self.events[4]], "the newest event stays")
        #expect(try await store.auditSeals(after: .min, limit: 9).map(\.number) == [3])
        withExtendedLifetime(holding) {}
    }
}
