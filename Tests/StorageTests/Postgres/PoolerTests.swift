import Primitives
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

@Suite("PostgreSQL: poolers")
struct PoolerTests {
    private let cluster: PostgresCluster
    /// The URL of the server itself.
    private let url: String

    init() throws {
        cluster = try PostgresCluster.shared()
        url = try cluster.makeSchema()
    }

    private func makePooler(
        _ mode: PgBouncer.Mode = .transaction, by server: UInt16? = nil, connections: Int = 2
    ) throws -> PgBouncer {
        try PgBouncer(before: cluster, schema: url, by: server, mode, connections: connections)
    }

    private func open(
        _ url: String, pooler: String?, poolSize: Int = 2, statementTimeout: Duration = .seconds(5)
    ) throws -> SQLStore {
        let configuration = PostgresConfiguration(
            url: Secret(url), poolerURL: pooler.map { Secret($0) }, poolSize: poolSize,
            statementTimeout: statementTimeout, maximumWait: .seconds(60))
        return try configuration.open(observer: nil)
    }

    @Test("Calls of many connections share the few of the pooler, and leave no setting and no statement in them")
    func shared() async throws {
        let pooler = try makePooler()
        defer { withExtendedLifetime(pooler) {} }
        let store = try open(pooler.url, pooler: pooler.url, poolSize: 16)
        let identities = (0..<8).map { _ in Records.identity() }
        let users = try await withThrowingTaskGroup(of: (UserID, String).self) { group in
            for number in 0..<64 {
                let record = try Records.signIn(identities[number % identities.count])
                group.addTask {
                    let user = try #require(try await store.signIn(record)).user.id
                    #expect(try await store.session(record.session.tokenHash, at: Records.now)?.user.id == user)
                    return (user, record.identity.subject)
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.1, default: []].insert($1.0) } as [String: Set<UserID>]
        }
        #expect(users.count == 8 && users.values.allSatisfy { $0.count == 1 })
        for _ in 0..<4 {
            #expect(try cluster.execute("SHOW statement_timeout", on: pooler.url) == "0")
            #expect(try cluster.execute("SELECT count(*) FROM pg_prepared_statements", on: pooler.url) == "0")
        }
        var processes: Set<Int64> = []
        for _ in 0..<8 {
            processes.insert(try await store.reads.submit { try $0.number("SELECT pg_backend_pid()") })
        }
        #expect(processes.count == 2)
        try await store.close()
    }

    @Test("A statement that takes too long is cancelled, in a transaction and outside of one")
    func statementTimeout() async throws {
        let pooler = try makePooler()
        defer { withExtendedLifetime(pooler) {} }
        let store = try open(pooler.url, pooler: pooler.url, statementTimeout: .milliseconds(500))
        for queue in [store.writes, store.reads] {
            let refusal = try await #require(throws: StorageError.self) {
                try await queue.submit { _ = try $0.number("SELECT 1 FROM pg_sleep(60)") }
            }
            #expect(refusal.reason.contains("57014"), "\(refusal.reason)")
        }
        try await until { (try? await store.signIn(Records.signIn())) != nil }
        try await store.close()
    }

    @Test("With the server's own URL, changes are announced; without it, nothing listens", arguments: [true, false])
    func announcements(isDirect: Bool) async throws {
        let pooler = try makePooler()
        defer { withExtendedLifetime(pooler) {} }
        let store = try open(isDirect ? url : pooler.url, pooler: pooler.url)
        let changes = Shared(0)
        store.watch { _ in changes.withLock { $0 += 1 } }
        let listening = """
            SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1281455203 \
            AND objid::bigint = (hashtext('\(url.split(separator: "%3D").last ?? "")')::bigint & 4294967295)
            """
        if isDirect { try await until { try cluster.execute(listening) == "1" } }
        let session = try Records.session()
        let user = try #require(try await store.signIn(Records.signIn(session: session))).user.id
        let before = changes.withLock { $0 }
        _ = try await store.revokeSession(id: session.id, of: user, in: nil, recording: nil)
        if isDirect { try await until { changes.withLock { $0 } > before } }
        #expect(try cluster.execute(listening) == (isDirect ? "1" : "0"))
        try await store.close()
        if !isDirect { #expect(changes.withLock { $0 } == 0) }
    }

    @Test(
        "A server that is lost during the commit, or before its response, means an unknown outcome",
        arguments: PostgresRelay.Cut.allCases)
    func lost(cut: PostgresRelay.Cut) async throws {
        let relay = try PostgresRelay(to: cluster.port)
        let pooler = try makePooler(by: relay.port, connections: 1)
        defer { withExtendedLifetime(pooler) {} }
        let store = try open(url, pooler: pooler.url)
        _ = try await store.signIn(Records.signIn())
        let record = try Records.signIn()
        // The second round trip ends with the commit. The pooler's error is the response to its first statement.
        relay.cut(cut, atRoundTrip: 2)
        let error = try await #require(throws: StorageError.self) { try await store.signIn(record) }
        #expect(error.reason.contains("it is unknown whether a transaction was stored"), "\(error.reason)")
        try await until { (try? await store.check()) != nil }
        let isStored = cut == .beforeResponse
        #expect((try await store.session(record.session.tokenHash, at: Records.now) != nil) == isStored)
        #expect(try cluster.execute("SELECT count(*) FROM users", on: url) == (isStored ? "2" : "1"))
        try await store.close()
    }

    @Test("A pooler that ends and starts again is like a server that does")
    func restarted() async throws {
        let pooler = try makePooler()
        defer { withExtendedLifetime(pooler) {} }
        let store = try open(url, pooler: pooler.url)
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        pooler.stop()
        await #expect { try await store.signIn(Records.signIn()) } throws: { isError($0, .unavailable) }
        try pooler.start()
        try await until { (try? await store.check()) != nil }
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        try await store.close()
    }

    @Test("A pooler in transaction mode is refused where the server's own URL is expected")
    func unknown() throws {
        let pooler = try makePooler()
        defer { withExtendedLifetime(pooler) {} }
        for place in [nil, url] as [String?] {
            let refusal = try #require(throws: StorageError.self) { try open(pooler.url, pooler: place) }
            #expect(refusal.reason.contains("is that of a pooler in transaction mode"), "\(refusal.reason)")
        }
        #expect(try cluster.execute("SELECT to_regclass('users') IS NULL", on: url) == "t")
    }

    @Test("A pooler in session mode needs no setting, also if all of its connections are in use")
    func sessionMode() async throws {
        for connections in [1, 8] {
            let pooler = try makePooler(.session, connections: connections)
            defer { withExtendedLifetime(pooler) {} }
            guard connections > 1 else {
                #expect(try PostgresConfiguration(url: Secret(pooler.url)).read { steps, _ in steps.count } ?? 0 > 0)
                continue
            }
            let store = try open(pooler.url, pooler: nil)
            #expect(try await store.signIn(Records.signIn())?.isNew == true)
            try await store.close()
        }
    }

    @Test("A pooler that leads to another schema than the server's URL is refused")
    func elsewhere() throws {
        let other = try PgBouncer(before: cluster, schema: cluster.makeSchema(), connections: 2)
        defer { withExtendedLifetime(other) {} }
        let refusal = try #require(throws: StorageError.self) { try open(url, pooler: other.url) }
        #expect(refusal.reason.contains("database.url leads to postgres.test_"), "\(refusal.reason)")
        #expect(refusal.reason.contains(", and database.pooler_url to postgres.test_"), "\(refusal.reason)")
        #expect(try cluster.execute("SELECT to_regclass('users') IS NULL", on: url) == "t")
    }
}
