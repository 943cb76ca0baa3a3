import Primitives
import Storage
import StorageModel
import Testing

@testable import Registration

@Suite("Any store: the audit log")
struct AuditConformanceTests {
    private static let erased = AuditEvent.Kind("user.erased")
    private static let made = AuditEvent.Kind("user.made")

    /// Five events, a minute apart.
    private static let events = [
        event(0, made, 1), event(1, made, 2), event(2, erased, 1), event(3, made, nil), event(4, erased, 2),
    ]

    private static func event(_ minute: Int64, _ kind: AuditEvent.Kind, _ user: Int64?) -> AuditEvent {
        AuditEvent(
            at: Records.now.advanced(bySeconds: minute * 60), kind, user: user.map(UserID.init),
            by: user == nil ? .latchkey : .operating("pat"), requestID: user.map { "request-\($0)" },
            details: AuditDetails { json in json.add("minute", minute) })
    }

    private func filled(_ kind: StoreKind) async throws -> (any Store, any Sendable) {
        let (store, holding) = try kind.open()
        for event in Self.events { try await store.addAuditEvent(event) }
        return (store, holding)
    }

    @Test("Events are read unchanged, the latest first, with rising numbers", arguments: StoreKind.all)
    func readBack(kind: StoreKind) async throws {
        let (store, holding) = try await filled(kind)
        let read = try await store.auditEvents(AuditQuery())
        #expect(read.map(\.event) == Self.events.reversed())
        #expect(read.map(\.serial) == read.map(\.serial).sorted(by: >))
        #expect(read.first?.event.details.json == #"{"minute":4}"#)
        withExtendedLifetime(holding) {}
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let query: AuditQuery
        /// The minutes of the matching events.
        let minutes: [Int]
    }

    private static let rows: [Row] = [
        Row(testDescription: "user", query: AuditQuery(user: UserID(1)), minutes: [2, 0]),
        Row(testDescription: "another user", query: AuditQuery(user: UserID(3)), minutes: []),
        Row(testDescription: "kind", query: AuditQuery(kind: made), minutes: [3, 1, 0]),
        Row(testDescription: "since, inclusive", query: AuditQuery(since: events[3].time), minutes: [4, 3]),
        Row(testDescription: "until, exclusive", query: AuditQuery(until: events[1].time), minutes: [0]),
        Row(
            testDescription: "all at once",
            query: AuditQuery(user: UserID(2), kind: erased, since: events[1].time, until: events[4].time),
            minutes: []),
        Row(testDescription: "limit", query: AuditQuery(limit: 2), minutes: [4, 3]),
        Row(testDescription: "a limit below 1 is 1", query: AuditQuery(limit: -7), minutes: [4]),
    ]

    @Test("Every condition of a query excludes the events that do not meet it", arguments: StoreKind.all, rows)
    func query(kind: StoreKind, row: Row) async throws {
        let (store, holding) = try await filled(kind)
        #expect(try await store.auditEvents(row.query).map(\.event) == row.minutes.map { Self.events[$0] })
        withExtendedLifetime(holding) {}
    }

    @Test("The next page continues after the last event of the page before", arguments: StoreKind.all)
    func pages(kind: StoreKind) async throws {
        let (store, holding) = try await filled(kind)
        var read: [AuditEvent] = []
        var before: Int64?
        for _ in 0..<3 {
            let page = try await store.auditEvents(AuditQuery(before: before, limit: 2))
            read += page.map(\.event)
            before = page.last?.serial
        }
        #expect(read == Self.events.reversed())
        withExtendedLifetime(holding) {}
    }

    private static func auditedSession() throws -> NewSession {
        var session = try Records.session()
        session.isAudited = true
        return session
    }

    @Test(
        "A session that is to be recorded has its event, with who signed in and how; no other has one",
        arguments: StoreKind.all)
    func sessions(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let identity = Records.identity()
        let sessions = try (0..<4).map { _ in try Self.auditedSession() }
        var first = SignInRecord(
            identity: identity, profile: nil, session: sessions[0], newcomers: Records.newcomers(), requestID: "r-1")
        first.idempotency = Records.idempotency()
        let given = try #require(try await store.signIn(first)?.given)
        _ = try await store.signIn(Records.signIn(identity, session: sessions[1]))
        _ = try await store.signIn(Records.signIn(identity))
        #expect(
            try await store.signIn(Records.signIn(session: Self.auditedSession(), newcomers: .mustRegister)) == nil)
        _ = try await store.addSession(sessions[2], besides: given)
        let pending = try Records.pending()
        try await store.addPendingRegistration(pending)
        let registration = try await store.register(
            handle: pending.handle, profile: Profile(), session: sessions[3], publicID: "registered", at: Records.now)
        guard case .success(let registered) = registration else {
            Issue.record("not registered")
            return
        }
        let events = try await store.auditEvents(AuditQuery()).reversed().map(\.event)
        #expect(events.map(\.kind) == sessions.map { _ in .sessionCreated })
        #expect(events.map(\.user) == [given.user, given.user, given.user, registered.id])
        #expect(events.map(\.requestID) == ["r-1", nil, nil, nil])
        #expect(events.allSatisfy { $0.actor == .user && $0.time == Records.now })
        func details(_ session: NewSession, _ rest: String) -> String {
            #"{"session_id":"\#(session.id)","client_id":"ccid-app"\#(rest)}"#
        }
        func origin(_ identity: Identity) -> String {
            #","issuer":"\#(identity.issuer)","identity":"\#(OriginHash.of(identity).prefix(1).hexadecimal)""#
        }
        #expect(
            events.map(\.details.json) == [
                details(sessions[0], origin(identity) + #","new_user":true"#), details(sessions[1], origin(identity)),
                details(sessions[2], ""), details(sessions[3], origin(pending.identity) + #","new_user":true"#),
            ])
        withExtendedLifetime(holding) {}
    }

    @Test("An event has a salt of its own and the digest of its details", arguments: StoreKind.engines)
    func salted(kind: StoreKind) async throws {
        let (store, holding) = try await filled(kind)
        let events = try await store.auditEvents(AuditQuery())
        #expect(Set(events.map(\.salt)).count == 5)
        for event in events {
            let salt = try #require(event.salt)
            #expect(
                salt.count == AuditDetails.saltBytes && event.detailsDigest == event.event.details.digest(salt: salt))
            #expect(!event.isErased)
        }
        withExtendedLifetime(holding) {}
    }

    @Test(
        "Events are removed by their age, the oldest first, up to a limit; numbers are never reused",
        arguments: StoreKind.all)
    func retention(kind: StoreKind) async throws {
        let (store, holding) = try await filled(kind)
        #expect(try await store.purgeAuditEvents(from: Self.events[0].time, limit: 500) == 0)
        #expect(try await store.purgeAuditEvents(from: Self.events[3].time, limit: 2) == 2)
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [4, 3, 2].map { Self.events[$0] })
        #expect(try await store.purgeAuditEvents(from: Self.events[3].time, limit: 500) == 1)
        let last = try #require(try await store.auditEvents(AuditQuery()).first?.serial)
        let end = Self.events[4].time.advanced(bySeconds: 1)
        #expect(try await store.purgeAuditEvents(from: end, limit: 500) == 1, "the newest event stays")
        try await store.addAuditEvent(Self.events[0])
        #expect(try await store.purgeAuditEvents(from: end, limit: 500) == 1)
        #expect(try await store.auditEvents(AuditQuery()).map(\.serial) == [last + 1])
        withExtendedLifetime(holding) {}
    }

    @Test("An event outlives its user", arguments: StoreKind.all)
    func outlivesUser(kind: StoreKind) async throws {
        let (store, holding) = try kind.open()
        let user = try #require(await store.signIn(Records.signIn())).user
        let event = AuditEvent(at: Records.now, Self.erased, user: user.id, by: .user)
        try await store.addAuditEvent(event)
        #expect(try await store.deleteUser(user.id))
        #expect(try await store.auditEvents(AuditQuery(user: user.id)).map(\.event).contains(event))
        withExtendedLifetime(holding) {}
    }

    @Test("A fingerprint depends on issuer, subject and their boundary, and reveals neither")
    func fingerprint() {
        let fingerprints = [
            Identity(issuer: "https://a.example", subject: "7"), Identity(issuer: "https://a.example7", subject: ""),
            Identity(issuer: "https://b.example", subject: "7"), Identity(issuer: "https://a.example", subject: "8"),
        ].map(\.fingerprint)
        #expect(Set(fingerprints).count == 4)
        #expect(fingerprints.allSatisfy { $0.utf8.count == 64 && !$0.contains("example") })
        // printf 'https://a.example\0007' | sha256sum
        #expect(fingerprints[0] == "d10a84565258e803f63d95a6bbd45f579d3f778c40c6ba61cc4e38fe29010eb4")
    }
}
