import Primitives
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

@Suite("PostgreSQL: statements that are sent together")
struct PostgresPipelineTests {
    private let cluster: PostgresCluster
    private let url: String
    private let relay: PostgresRelay

    init() throws {
        cluster = try PostgresCluster.shared()
        url = try cluster.makeSchema()
        relay = try PostgresRelay(to: cluster.port)
    }

    /// A store with one connection that writes and one that reads, both open.
    private func open() async throws -> SQLStore {
        let configuration = PostgresConfiguration(
            url: Secret(url.replacing(":\(cluster.port)/", with: ":\(relay.port)/")), poolSize: 2,
            maximumWait: .seconds(60))
        let store = try configuration.open(observer: nil)
        try await store.check()
        return store
    }

    private func counted<Value>(_ body: () async throws -> Value) async throws -> (value: Value, roundTrips: Int) {
        let before = relay.roundTrips
        let value = try await body()
        return (value, relay.roundTrips - before)
    }

    // MARK: Round trips

    @Test("A sign-in takes 3 round trips for a new user and 2 for a known one, also with statements not yet prepared")
    func signIns() async throws {
        let store = try await open()
        let identity = Records.identity()
        for (profile, expected) in [([:], 3), ([:], 2), ([.email: "a@example.com"], 2)] as [(Profile, Int)] {
            let record = try Records.signIn(identity, profile: profile, idempotency: Records.idempotency())
            let signIn = try await counted { try await store.signIn(record) }
            #expect(signIn.value?.given != nil)
            #expect(signIn.roundTrips == expected)
        }
        try await store.close()
    }

    @Test("A read takes 1 round trip, and a write as many as it needs results, with its commit")
    func others() async throws {
        let store = try await open()
        let (session, successor) = (try Records.session(), try Records.session())
        let user = try #require(try await store.signIn(Records.signIn(session: session))).user.id
        let read = try await counted { try await store.session(session.tokenHash, at: Records.now) }
        #expect(read.value?.user.id == user)
        #expect(read.roundTrips == 1)
        let rotation = try Records.rotation(of: session.refreshTokenHash, to: successor)
        let refresh = try await counted { try await store.rotate(rotation) }
        #expect(refresh.value)
        #expect(refresh.roundTrips == 2)
        let seen = (0..<100).map { (sessionID: "\($0)", userID: user, time: Records.now) }
        #expect(try await counted { try await store.recordLastSeen(seen) }.roundTrips == 2)
        try await store.close()
    }

    @Test("Of many statements, at most 256 wait")
    func many() async throws {
        let store = try await open()
        try cluster.execute("CREATE TABLE notes (number bigint)", on: url)
        let count = try await counted {
            try await store.writes.submit { db in
                for number in 0..<1_000 { try db.perform("INSERT INTO notes VALUES (?)", Int64(number)) }
            }
        }.roundTrips
        // 3 times 256, and the rest with the commit.
        #expect(count == 4)
        #expect(try cluster.execute("SELECT count(DISTINCT number) FROM notes", on: url) == "1000")
        try await store.close()
    }

    // MARK: Failures of statements that wait

    @Test("The failure of a statement that waits is thrown by the next one with a result, or by the commit")
    func failures() async throws {
        let store = try await open()
        try cluster.execute("CREATE TABLE notes (number bigint PRIMARY KEY)", on: url)
        for hasResult in [false, true] {
            let wentOn = Mutex(0)
            let error = try await #require(throws: StorageError.self) {
                try await store.writes.submit { db in
                    try db.perform("INSERT INTO notes VALUES (?)", 1 as Int64)
                    try db.perform("INSERT INTO notes VALUES (?)", 1 as Int64)
                    if hasResult { _ = try db.number("SELECT count(*) FROM notes") }
                    wentOn.withLock { $0 += 1 }
                }
            }
            #expect(error.code == .conflict)
            #expect(error.reason.contains("INSERT INTO notes VALUES (?) (PostgreSQL 23505)"), "\(error.reason)")
            #expect((wentOn.withLock { $0 } == 0) == hasResult)
            #expect(try cluster.execute("SELECT count(*) FROM notes", on: url) == "0")
        }
        // On the same connection.
        let signIn = try await counted { try await store.signIn(Records.signIn()) }
        #expect(signIn.value?.isNew == true)
        #expect(signIn.roundTrips == 3)
        try await store.close()
    }

    @Test("A statement that cannot be prepared is prepared again when it can be")
    func preparation() async throws {
        let store = try await open()
        let write: @Sendable (SQLSession) throws -> Void = { db in
            try db.perform("INSERT INTO notes VALUES (?)", 1 as Int64)
            try db.perform("INSERT INTO remarks VALUES (?)", 2 as Int64)
        }
        for table in ["notes", "remarks"] {
            let error = try await #require(throws: StorageError.self) { try await store.writes.submit(write) }
            #expect(error.reason.contains("\"\(table)\" does not exist"), "\(error.reason)")
            try cluster.execute("CREATE TABLE \(table) (number bigint)", on: url)
        }
        try await store.writes.submit(write)
        #expect(try cluster.execute("SELECT * FROM notes, remarks", on: url) == "1|2")
        try await store.close()
    }

    @Test("Of a batch, only the work fails whose statement failed while it waited")
    func batch() async throws {
        let store = try await open()
        try cluster.execute("CREATE TABLE notes (number bigint PRIMARY KEY)", on: url)
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        await gate.whenReached()
        async let failures = withTaskGroup(of: Int64?.self) { group in
            for number in [1, 2, 3, 4] as [Int64] {
                group.addTask {
                    let work: @Sendable (SQLSession) throws -> Void = { db in
                        try db.perform("INSERT INTO notes VALUES (?)", number)
                        if number == 2 { try db.perform("INSERT INTO notes VALUES (?)", number) }
                        if number == 3 { _ = try db.number("SELECT count(*) FROM notes") }
                    }
                    return (try? await store.writes.submit(work)) == nil ? number : nil
                }
            }
            return await group.reduce(into: [Int64]()) { if let number = $1 { $0.append(number) } }
        }
        while store.writes.waitingCount < 4 { await Task.yield() }
        gate.open()
        try await held
        #expect(await failures == [2])
        #expect(try cluster.execute("SELECT number FROM notes ORDER BY 1", on: url) == "1\n3\n4")
        try await store.close()
    }

    // MARK: Lost connections

    @Test(
        "A connection lost before the commit is sent means another try; after that, an unknown outcome",
        arguments: [1, 2, 3], PostgresRelay.Cut.allCases)
    func lost(roundTrip: Int, cut: PostgresRelay.Cut) async throws {
        let store = try await open()
        let record = try Records.signIn(idempotency: Records.idempotency())
        relay.cut(cut, atRoundTrip: roundTrip)
        if roundTrip < 3 {
            #expect(try await store.signIn(record)?.isNew == true)
        } else {
            let error = try await #require(throws: StorageError.self) { try await store.signIn(record) }
            #expect(error.code == .unavailable)
            #expect(error.reason.contains("it is unknown whether a transaction was stored"), "\(error.reason)")
        }
        try await until { (try? await store.check()) != nil }
        let isStored = roundTrip < 3 || cut == .beforeResponse
        #expect((try await store.session(record.session.tokenHash, at: Records.now) != nil) == isStored)
        #expect(try cluster.execute("SELECT count(*) FROM users", on: url) == (isStored ? "1" : "0"))
        try await store.close()
    }

    @Test(
        "A response before that of the commit that cannot be read means an unknown outcome, and no other try",
        arguments: PostgresRelay.Damage.allCases)
    func unreadable(damage: PostgresRelay.Damage) async throws {
        let store = try await open()
        try cluster.execute("CREATE TABLE notes (number bigint)", on: url)
        // The response to what prepares the insertion.
        relay.damage(damage, atRoundTrip: 2)
        let error = try await #require(throws: StorageError.self) {
            try await store.writes.submit { db in
                _ = try db.number("SELECT 1")
                try db.perform("INSERT INTO notes VALUES (?)", 1 as Int64)
            }
        }
        #expect(error.code == .unavailable)
        #expect(error.reason.contains("it is unknown whether a transaction was stored"), "\(error.reason)")
        #expect(try cluster.execute("SELECT count(*) FROM notes", on: url) == "1")
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        try await store.close()
    }

    @Test(
        "The loss of an idle connection is no unknown outcome, also of a write without results",
        arguments: PostgresRelay.Cut.allCases)
    func idle(cut: PostgresRelay.Cut) async throws {
        let store = try await open()
        let event = AuditEvent(at: Records.now, AuditEvent.Kind("test.made"), user: nil, by: .latchkey)
        relay.cut(cut, atRoundTrip: 1)
        try await store.addAuditEvent(event)
        relay.cut(cut, atRoundTrip: 1)
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [event])
        try await store.close()
    }

    @Test("A connection whose BEGIN the server refuses is closed: the next write runs on another one")
    func refusedBegin() async throws {
        let store = try await open()
        let process = Mutex<Int64>(0)
        // What the connection knows as BEGIN fails from now on. A standby refuses BEGIN itself.
        try await store.writes.submit { db in
            let number = try db.number("SELECT pg_backend_pid()")
            process.withLock { $0 = number }
            try db.execute(
                """
                DO $$DECLARE known text := (SELECT name FROM pg_prepared_statements WHERE statement LIKE 'BEGIN %');
                BEGIN
                    EXECUTE format('DEALLOCATE %I', known);
                    EXECUTE format('PREPARE %I AS SELECT 1 / (0 * random())::integer', known);
                END$$
                """)
        }
        let refusal = try await #require(throws: StorageError.self) { try await store.signIn(Records.signIn()) }
        #expect(refusal.reason.contains("22012"), "\(refusal.reason)")
        #expect(try cluster.execute("SELECT count(*) FROM users", on: url) == "0")
        let next = try await store.writes.submit { db in try db.number("SELECT pg_backend_pid()") }
        #expect(next != process.withLock { $0 })
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        try await store.close()
    }

    @Test("A server that terminates the connection while statements before the commit run has stored nothing")
    func terminated() async throws {
        let store = try await open()
        let tries = Mutex(0)
        try await store.writes.submit { db in
            let number = tries.withLock { tries in
                tries += 1
                return tries
            }
            _ = try db.number("SELECT 1")
            if number == 1 { try db.perform("SELECT pg_terminate_backend(pg_backend_pid())") }
        }
        #expect(tries.withLock { $0 } == 2)
        try await store.close()
    }
}
