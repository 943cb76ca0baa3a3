import Primitives
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

@Suite("PostgreSQL: opening, and its errors")
struct PostgresTests {
    private let cluster: PostgresCluster
    private let url: String

    init() throws {
        cluster = try PostgresCluster.shared()
        url = try cluster.makeSchema()
    }

    private func open(
        _ change: (inout PostgresConfiguration) -> Void = { _ in }
    ) throws(StorageError) -> SQLStore {
        var configuration = PostgresConfiguration(url: Secret(url), poolSize: 2)
        change(&configuration)
        return try configuration.open(observer: nil)
    }

    @Test("Rows survive closing and reopening, and the tables are made once")
    func reopens() async throws {
        let session = try Records.session()
        let first = try open()
        let user = try await first.signIn(Records.signIn(session: session))?.user
        try await first.close()
        await #expect { try await first.check() } throws: { isError($0, .closed) }
        let second = try open()
        #expect(try await second.session(session.tokenHash, at: Records.now)?.user == user)
        try await second.close()
    }

    @Test("The server frees the connections of a client that vanishes within about a minute")
    func serverProbes() throws {
        let connection = PostgresConnection(PostgresConfiguration(url: Secret(url)), gate: ReconnectGate())
        try connection.connect()
        for (setting, value) in [
            ("tcp_keepalives_idle", "30"), ("tcp_keepalives_interval", "10"), ("tcp_keepalives_count", "3"),
            ("tcp_user_timeout", "60000"),
        ] {
            let result = try connection.run("SELECT setting FROM pg_settings WHERE name = '\(setting)'")
            #expect(String(decoding: result.bytes(0, 0), as: UTF8.self) == value, "\(setting)")
        }
    }

    @Test("The look-up of earlier sign-ins uses the primary key, also if it was planned while there were none")
    func planOfEmptyTable() async throws {
        try await open().close()
        // Without it, the server assumes that a table that was never vacuumed has some pages.
        try cluster.execute("VACUUM ANALYZE recent_sign_ins", on: url)
        let connection = PostgresConnection(PostgresConfiguration(url: Secret(url)), gate: ReconnectGate())
        try connection.connect()
        let recall = PostgresRead.recall.text.replacing("(SELECT ?), ?", with: "(SELECT $1), $2")
        try connection.script(
            "SET plan_cache_mode = force_generic_plan; PREPARE recall (bytea[], bigint[]) AS \(recall)")
        let result = try connection.run("EXPLAIN EXECUTE recall ('{}', '{}')")
        let plan = (0..<result.rowCount).map { String(decoding: result.bytes($0, 0), as: UTF8.self) }
        #expect(plan.contains { $0.contains("Index Scan using recent_sign_ins_pkey") }, "\(plan)")
    }

    @Test("Concurrent starts on an empty database all succeed")
    func migratesOnce() async throws {
        let stores = try await withThrowingTaskGroup(of: SQLStore.self) { group in
            for _ in 0..<6 { group.addTask { try open() } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for store in stores {
            try await store.check()
            try await store.close()
        }
        let steps = try cluster.execute("SELECT count(*) FROM latchkey_migrations", on: url)
        #expect(steps == "\(Schema.migrations.count)")
    }

    @Test(
        "A database of a newer version or of another program is refused and not changed",
        arguments: [
            ("CREATE TABLE users (name text)", "another program's"),
            (
                """
                CREATE TABLE latchkey_migrations (name text PRIMARY KEY);
                INSERT INTO latchkey_migrations VALUES ('99 from the future')
                """, "newer version"
            ),
        ])
    func refused(sql: String, reason: String) async throws {
        try cluster.execute(sql, on: url)
        let refusal = try #require(throws: StorageError.self) { try open() }
        #expect(refusal.code == .corrupt)
        #expect(refusal.reason.contains(reason), "\(refusal.reason)")
        let tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()"
        #expect(try cluster.execute(tables, on: url) == "1")
    }

    @Test("An unreachable server is reported with the reason, and never with the password")
    func unreachable() async throws {
        let closed = url.replacing(":\(cluster.port)/", with: ":1/")
        let wrong = url.replacing("s3cret", with: "secret")
        let missing = url.replacing("/postgres?", with: "/nothing?")
        for (url, part) in [
            (closed, "refused"), (wrong, "password"), (missing, "does not exist"), ("postgres://%", "libpq"),
            ("postgres://me:s3cret%2@host/db", "libpq"),
        ] {
            let refusal = try #require(throws: StorageError.self) { try open { $0.url = Secret(url) } }
            #expect(refusal.code == .unavailable)
            #expect(refusal.reason.contains(part), "\(refusal.reason)")
            for secret in ["s3cret", "secret/", PostgresCluster.password] { #expect(!refusal.reason.contains(secret)) }
        }
    }

    @Test("A server that accepts a connection and stays silent times out")
    func silentServer() async throws {
        let peer = try RawHTTPPeer { $0.hold() }
        let silent = url.replacing(":\(cluster.port)/", with: ":\(peer.port)/")
        let refusal = try #require(throws: StorageError.self) {
            try open {
                $0.url = Secret(silent)
                $0.connectTimeout = .milliseconds(200)
            }
        }
        #expect(refusal.code == .unavailable)
        #expect(refusal.reason.contains("in time"))
        withExtendedLifetime(peer) {}
    }

    @Test("Sign-ins and look-ups that share a statement wait for others, and sign-ins as long as they allow")
    func delayed() async throws {
        let (writes, reads) = (ManualCommitTimer(), ManualCommitTimer())
        var timers = [writes, reads]
        let configuration = PostgresConfiguration(url: Secret(url))
        let store = SQLStore(try PostgresEngine(configuration, StoreHooks()) { timers.removeFirst() })
        // Of the first ones nothing was known of others.
        for waits in [[], [CommitDelay.shared]] {
            #expect(try await store.recentSignIn([1], at: Records.now) == nil)
            #expect(reads.waits == waits)
            #expect(try await store.signIn(Records.signIn())?.isNew == true)
            #expect(writes.waits == waits)
        }
        let patient = try Records.delayedSignIn()
        #expect(try await store.signIn(patient)?.isNew == true)
        #expect(writes.waits == [CommitDelay.shared, patient.commitDelay])
        var alone = try Records.signIn()
        alone.provenPhoneNumber = "+15550100"
        #expect(try await store.signIn(alone)?.isNew == true)
        #expect(writes.waits.count == 2)
        #expect(reads.waits.count == 1)
        try await store.close()
    }

    @Test("An error contains the statement and no value")
    func noValues() async throws {
        let store = try open()
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        let again = try Records.signIn(
            Records.identity("subject-in-no-log"), profile: [.email: "nobody@example.com"], session: session)
        let error = try await #require(throws: StorageError.self) { try await store.signIn(again) }
        #expect(error.code == .conflict)
        #expect(error.reason.contains("INSERT INTO sessions"))
        #expect(!error.reason.contains("subject-in-no-log"))
        #expect(!error.reason.contains("nobody@example.com"))
        try await store.close()
    }

    @Test("Audit events are never changed")
    func audit() async throws {
        let store = try open()
        try await store.addAuditEvent(
            AuditEvent(at: Records.now, AuditEvent.Kind("user.made"), user: nil, by: .latchkey))
        let error = try #require(throws: PostgresCluster.Failure.self) {
            try cluster.execute("UPDATE audit_events SET actor = 'nobody'", on: url)
        }
        #expect(error.description.contains("never changed"))
        try await store.close()
    }

    @Test("Sessions and identities go with their user, also after the schema has got another name")
    func renamedSchema() async throws {
        let store = try open()
        _ = try await store.signIn(Records.signIn(session: try Records.session()))
        try await store.close()
        let name = try cluster.execute("SELECT current_schema()", on: url)
        let counts = "SELECT (SELECT count(*) FROM %.sessions), (SELECT count(*) FROM %.identities)"
            .replacing("%", with: "renamed_\(name)")
        let former = ["sessions", "identities"].map { "CREATE TABLE \(name).\($0) (user_id bigint);" }
        _ = try cluster.execute(
            "ALTER SCHEMA \(name) RENAME TO renamed_\(name); CREATE SCHEMA \(name); \(former.joined())", on: url)
        #expect(try cluster.execute(counts, on: url) == "1|1")
        _ = try cluster.execute("DELETE FROM renamed_\(name).users", on: url)
        #expect(try cluster.execute(counts, on: url) == "0|0")
    }

    @Test("Every foreign key is enforced in every table")
    func sameTables() async throws {
        let store = try open()
        let tables = try cluster.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY 1", on: url
        )
        let directory = try TemporaryDirectory()
        let sqlite = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
        let others = try await sqlite.tableNames()
        let names = tables.split(separator: "\n").map(String.init)
        #expect(names.filter { $0 != "latchkey_migrations" } == others)
        #expect(others.count > 10)
        let rules = """
            SELECT count(*) FROM information_schema.referential_constraints \
            WHERE constraint_schema = current_schema() AND delete_rule = 'CASCADE'
            """
        // Sessions and identities have their users by a lock and a trigger.
        #expect(try cluster.execute(rules, on: url) == "\(try await sqlite.referenceCount() - 2)")
        try await store.close()
        try await sqlite.close()
    }
}

extension SQLStore {
    fileprivate func tableNames() async throws -> [String] {
        try await onSQLite { db in
            try db.session.all(
                """
                SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
                AND name <> 'grdb_migrations' ORDER BY name
                """
            ) { try $0.text(0) }
        }
    }

    fileprivate func referenceCount() async throws -> Int64 {
        try await onSQLite { db in
            try db.session.number(
                """
                SELECT count(DISTINCT name || '/' || id) FROM \
                (SELECT tables.name AS name, keys.id AS id FROM sqlite_schema AS tables, \
                pragma_foreign_key_list(tables.name) AS keys WHERE tables.type = 'table')
                """)
        }
    }
}
