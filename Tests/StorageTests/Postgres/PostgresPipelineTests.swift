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
    private func open(statementTimeout: Duration = .seconds(60)) async throws -> SQLStore {
        let configuration = PostgresConfiguration(
            url: Secret(url.replacing(":\(cluster.port)/", with: ":\(relay.port)/")), poolSize: 2,
            statementTimeout: statementTimeout, maximumWait: statementTimeout)
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

    @Test("A sign-in takes 2 round trips, also with statements not yet prepared")
    func signIns() async throws {
        let store = try await open()
        let identity = Records.identity()
        for profile in [[:], [:], [.email: "a@example.com"]] as [Profile] {
            let record = try Records.signIn(identity, profile: profile, idempotency: Records.idempotency())
            let signIn = try await counted { try await store.signIn(record) }
            #expect(signIn.value?.given != nil)
            #expect(signIn.roundTrips == 2)
        }
        try await store.close()
    }

    /// Makes sign-ins that wait together for the one connection that writes; returns their results in this order.
    private func together(
        _ records: [SignInRecord], in store: SQLStore
    ) async throws -> [Result<SignedInUser?, any Error>] {
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        await gate.whenReached()
        let results = try await withThrowingTaskGroup(of: (Int, Result<SignedInUser?, any Error>).self) { group in
            for (place, record) in records.enumerated() {
                group.addTask { (place, await Result.of { try await store.signIn(record) }) }
            }
            try await until { store.writes.waitingCount == records.count }
            gate.open()
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        try await held
        return try records.indices.map { try #require(results[$0]) }
    }

    @Test("Sign-ins that wait share their round trips and their commit")
    func signInsTogether() async throws {
        let store = try await open()
        let known = try (0..<8).map { _ in try Records.signIn(idempotency: Records.idempotency()) }
        let first = try await counted { try await together(known, in: store) }
        // With 2 of the transaction that they waited for.
        #expect(first.roundTrips == 4)
        let users = try first.value.map { try #require(try $0.get()?.user.id) }
        #expect(Set(users).count == 8)
        // Two of them on two devices.
        let again = try (known + known.prefix(2)).map { record in
            try Records.signIn(record.identity, profile: [.name: "Pat"], idempotency: Records.idempotency())
        }
        let newcomers = try (0..<8).map { _ in try Records.signIn() }
        let second = try await counted { try await together(again + newcomers, in: store) }
        #expect(second.roundTrips == 4)
        let results = try second.value.map { try #require(try $0.get()) }
        #expect(results.prefix(10).map(\.user.id) == users + users.prefix(2))
        #expect(results.map(\.isNew) == Array(repeating: false, count: 10) + Array(repeating: true, count: 8))
        #expect(results[2..<8].allSatisfy { $0.isChanged })
        #expect(results.count { $0.isChanged } == 8)
        for (record, result) in zip(again + newcomers, results) {
            let found = try #require(try await store.session(record.session.tokenHash, at: Records.now))
            #expect(found.user == result.user)
            #expect(found.session.id == record.session.id)
        }
        try await store.close()
    }

    @Test("Sign-ins that wait together have each its own result")
    func resultsTogether() async throws {
        let store = try await open()
        let (twice, unknown) = (Records.identity(), Records.identity())
        let retried = Records.idempotency()
        let stored = try Records.signIn()
        let owner = try #require(try await store.signIn(stored)).user.id
        _ = try await store.revokeSessions(
            of: owner, except: nil, recording: AuditEvent(at: Records.now, .movedIdentityRefused, user: nil, by: .user))
        var use = try Records.signIn()
        use.tokenUse = OneTimeUse(Records.oneTimeRecord())
        var useAgain = try Records.signIn()
        useAgain.tokenUse = use.tokenUse
        let records = try [
            Records.signIn(twice, profile: [.name: "Pat"], idempotency: retried), Records.signIn(twice),
            Records.signIn(twice, idempotency: retried), Records.signIn(unknown, newcomers: .mustRegister),
            // Of a response from before the sign-out.
            Records.signIn(
                stored.identity, profile: [.name: "Sam"],
                idempotency: IdempotencyRecord(
                    key: RandomSource.system.bytes(16), endsAt: Records.now.advanced(bySeconds: 60), endings: 0)),
            use, useAgain,
        ]
        let results = try await together(records, in: store).map { try $0.get() }
        let users = results.prefix(3).compactMap { $0?.user }
        #expect(users.count == 3)
        #expect(Set(users.map(\.id)).count == 1)
        #expect(users.allSatisfy { $0.profile[.name] == "Pat" } || results[0]?.isChanged == true)
        #expect(results.prefix(3).count { $0?.isNew == true } == 1)
        #expect(results[3] == nil)
        #expect(results[4] == nil)
        #expect(try cluster.execute("SELECT count(*) FROM users WHERE name = 'Sam'", on: url) == "0")
        #expect([results[5], results[6]].count { $0 != nil } == 1)
        for (record, result) in zip(records, results) {
            let found = try await store.session(record.session.tokenHash, at: Records.now)
            #expect((found == nil) == (result == nil))
        }
        let given = try #require(try await store.recentSignIn(retried.key, at: Records.now)?.session)
        #expect(results[0]?.given == given || results[2]?.given == given)
        try await store.close()
    }

    @Test("Look-ups of earlier sign-ins that wait share their round trip, and have each its own result")
    func recallsTogether() async throws {
        let store = try await open()
        let (first, second) = (Records.idempotency(), Records.idempotency())
        for retry in [first, second] { _ = try await store.signIn(Records.signIn(idempotency: retry)) }
        let lookups = [
            (first.key, Records.now), (Records.idempotency().key, Records.now), (second.key, second.endsAt),
            (second.key, Records.now), (first.key, Records.now),
        ]
        let gate = Gate()
        async let held: Void = store.reads.submit { _ in gate.wait() }
        await gate.whenReached()
        let found = try await counted {
            try await withThrowingTaskGroup(of: (Int, [UInt8]?).self) { group in
                for (place, (key, now)) in lookups.enumerated() {
                    group.addTask { (place, try await store.recentSignIn(key, at: now)?.key) }
                }
                try await until { store.reads.waitingCount == lookups.count }
                gate.open()
                return try await group.reduce(into: [Int: [UInt8]?]()) { $0.updateValue($1.1, forKey: $1.0) }
            }
        }
        try await held
        #expect(found.value == [0: first.key, 1: nil, 2: nil, 3: second.key, 4: first.key])
        #expect(found.roundTrips == 1)
        try await store.close()
    }

    @Test("Of users who sign in together, one loses the number that another one proves", arguments: [0, 1])
    func provenNumberTogether(place: Int) async throws {
        let store = try await open()
        let number = "+14155550101"
        let identities = ["mccmnc-a", "mccmnc-b"].map { Records.identity($0) }
        func signIn(_ identity: Identity, name: String, verified: Bool? = nil) throws -> SignInRecord {
            var record = try Records.signIn(identity, profile: [.name: name, .phoneNumber: number])
            record.verified[.phoneNumber] = verified
            return record
        }
        let (former, present) = (identities[place], identities[1 - place])
        _ = try await store.signIn(signIn(former, name: "Pat", verified: true))
        var proof = try signIn(present, name: "Kim", verified: true)
        proof.provenPhoneNumber = number
        let results = try await together([signIn(former, name: "Sam"), proof], in: store)
            .map { try #require(try $0.get()) }
        #expect(results[1].formerHolders == [results[0].user.id])
        let verified = try cluster.execute(
            "SELECT name FROM users WHERE phone_number_verified_at IS NOT NULL", on: url)
        #expect(verified == "Kim")
        try await store.close()
    }

    @Test("Of sign-ins that wait together, those of locked users hold up no others")
    func lockedTogether() async throws {
        let (store, other) = (try await open(statementTimeout: .seconds(10)), try await open())
        let identities = (0..<8).map { _ in Records.identity() }
        let users = try await together(identities.map { try Records.signIn($0) }, in: store)
            .map { try #require(try $0.get()?.user.id) }
        let locked = [2, 5]
        let gate = Gate()
        async let held: Void = other.writes.submit(locking: locked.map { .user(users[$0]) }) { db in
            _ = try db.number("SELECT 1")
            gate.wait()
        }
        defer { gate.open() }
        await gate.whenReached()
        let records = try identities.map { try Records.signIn($0) }
        async let results = together(records, in: store)
        for (place, record) in records.enumerated() where !locked.contains(place) {
            try await until { try await store.session(record.session.tokenHash, at: Records.now) != nil }
        }
        for place in locked {
            #expect(try await store.session(records[place].session.tokenHash, at: Records.now) == nil)
        }
        gate.open()
        try await held
        for (result, user) in zip(try await results, users) { #expect(try result.get()?.user.id == user) }
        try await store.close()
        try await other.close()
    }

    /// Whether a statement waits for a lock that a connection has.
    private func holdsUp(_ process: Shared<Int64>) throws -> Bool {
        let number = process.withLock { $0 }
        return try cluster.execute(
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE \(number) = ANY (pg_blocking_pids(pid))", on: url) == "t"
    }

    @Test("Sign-ins of locked users fail in time, and do not hold up the next ones")
    func lockedForLong() async throws {
        let (store, other) = (try await open(statementTimeout: .seconds(8)), try await open())
        let identities = (0..<3).map { _ in Records.identity() }
        let users = try await together(identities.map { try Records.signIn($0) }, in: store)
            .map { try #require(try $0.get()?.user.id) }
        let gate = Gate()
        let process = Shared<Int64>(0)
        async let held: Void = other.writes.submit(locking: users.map { .user($0) }) { db in
            let number = try db.number("SELECT pg_backend_pid()")
            process.withLock { $0 = number }
            gate.wait()
        }
        defer { gate.open() }
        await gate.whenReached()
        let records = try identities.map { try Records.signIn($0) }
        async let results = together(records, in: store)
        try await until { try holdsUp(process) }
        // It waits as long as a statement may take.
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        for result in try await results {
            #expect { try result.get() } throws: { isError($0, .unavailable) }
        }
        gate.open()
        try await held
        try await store.close()
        try await other.close()
    }

    @Test("Of sign-ins that wait together, one that a sign-out overtakes is refused, and the other one is stored")
    func overtakenTogether() async throws {
        let (store, other) = (try await open(), try await open())
        let identities = (0..<2).map { _ in Records.identity() }
        let users = try await together(identities.map { try Records.signIn($0) }, in: store)
            .map { try #require(try $0.get()?.user.id) }
        let gate = Gate()
        let process = Shared<Int64>(0)
        async let held: Void = other.writes.submit(locking: [.user(users[1])]) { db in
            _ = try SessionsTable.endAll(of: users[1], in: db)
            let number = try db.number("SELECT pg_backend_pid()")
            process.withLock { $0 = number }
            gate.wait()
        }
        defer { gate.open() }
        await gate.whenReached()
        let records = try identities.map { identity in
            try Records.signIn(
                identity,
                idempotency: IdempotencyRecord(
                    key: RandomSource.system.bytes(16), endsAt: Records.now.advanced(bySeconds: 60), endings: 0))
        }
        async let results = together(records, in: store)
        try await until { try holdsUp(process) }
        gate.open()
        try await held
        let signedIn = try await results.map { try $0.get() }
        #expect(signedIn.map { $0?.user.id } == [users[0], nil])
        #expect(try await store.session(records[0].session.tokenHash, at: Records.now) != nil)
        #expect(try await store.session(records[1].session.tokenHash, at: Records.now) == nil)
        try await store.close()
        try await other.close()
    }

    @Test("Of sign-ins that wait together, the failure of one fails that one alone")
    func failureTogether() async throws {
        let store = try await open()
        let token = Records.hash()
        _ = try await store.signIn(Records.signIn(session: Records.session(token: token)))
        let records = try (0..<5).map { number in
            try Records.signIn(session: Records.session(token: number == 2 ? token : nil))
        }
        let results = try await together(records, in: store)
        for (number, result) in results.enumerated() {
            if number == 2 {
                #expect { try result.get() } throws: { isError($0, .conflict) }
            } else {
                #expect(try result.get()?.isNew == true)
            }
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
        #expect(signIn.roundTrips == 2)
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
        arguments: [1, 2], PostgresRelay.Cut.allCases)
    func lost(roundTrip: Int, cut: PostgresRelay.Cut) async throws {
        let store = try await open()
        let record = try Records.signIn(idempotency: Records.idempotency())
        relay.cut(cut, atRoundTrip: roundTrip)
        // The second one ends with the commit.
        if roundTrip < 2 {
            #expect(try await store.signIn(record)?.isNew == true)
        } else {
            let error = try await #require(throws: StorageError.self) { try await store.signIn(record) }
            #expect(error.code == .unavailable)
            #expect(error.reason.contains("it is unknown whether a transaction was stored"), "\(error.reason)")
        }
        try await until { (try? await store.check()) != nil }
        let isStored = roundTrip < 2 || cut == .beforeResponse
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
