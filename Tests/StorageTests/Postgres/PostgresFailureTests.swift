import Foundation
import Primitives
import Storage
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("PostgreSQL: failures of the server")
struct PostgresFailureTests {
    private let cluster: PostgresCluster
    private let url: String
    /// Of the connections of this test.
    private let name = RandomSource.system.token(bytes: 8)

    init() throws {
        cluster = try PostgresCluster.shared()
        url = try cluster.makeSchema() + "&application_name=\(name)"
    }

    private func open(
        _ url: String? = nil, poolSize: Int = 2, statementTimeout: Duration = .seconds(5), maximumWaiting: Int = 4_096
    ) throws -> SQLStore {
        let configuration = PostgresConfiguration(
            url: Secret(url ?? self.url), poolSize: poolSize, statementTimeout: statementTimeout,
            maximumWaiting: maximumWaiting, maximumWait: .seconds(60))
        return try configuration.open(observer: nil)
    }

    @Test("A statement that takes too long is cancelled, and the connection stays usable")
    func statementTimeout() async throws {
        let store = try open(statementTimeout: .milliseconds(500))
        let refusal = try await #require(throws: StorageError.self) {
            try await store.writes.submit { try $0.execute("SELECT pg_sleep(60)") }
        }
        #expect(refusal.code == .unavailable)
        #expect(refusal.reason.contains("57014"), "\(refusal.reason)")
        // On a loaded machine another statement may take too long, too.
        try await until { (try? await store.signIn(Records.signIn())) != nil }
        try await store.close()
    }

    @Test("A connection to a silent server is closed, and a new one is opened")
    func silence() async throws {
        let store = try open(statementTimeout: .seconds(1))
        var process: Int64?
        // On a loaded machine a statement may take too long.
        try await until {
            process = try? await store.writes.submit { try $0.number("SELECT pg_backend_pid()") }
            return process != nil
        }
        let identifier = Int32(try #require(process))
        kill(identifier, SIGSTOP)
        let refusal = try await #require(throws: StorageError.self) { try await store.signIn(Records.signIn()) }
        kill(identifier, SIGCONT)
        #expect(refusal.code == .unavailable)
        #expect(refusal.reason.contains("in time"), "\(refusal.reason)")
        try await until { (try? await store.signIn(Records.signIn())) != nil }
        try await store.close()
    }

    @Test(
        "Work whose server a pooler reports as lost, in an error of the statement, is retried on another connection",
        arguments: [
            ("08P01", "server conn crashed"), ("08P01", "pgbouncer cannot connect to server"),
            ("08006", "server login failed"),
        ])
    func lostByPooler(state: String, message: String) async throws {
        let store = try open()
        let processes = Shared<[Int64]>([])
        try await store.writes.submit { db in
            let process = try db.number("SELECT pg_backend_pid()")
            let number = processes.withLock { processes in
                processes.append(process)
                return processes.count
            }
            guard number == 1 else { return }
            try db.execute("DO $$BEGIN RAISE EXCEPTION '\(message)' USING ERRCODE = '\(state)'; END$$")
        }
        #expect(processes.withLock { Set($0).count } == 2)
        // Another failure of the statement is not one of the connection.
        let refusal = try await #require(throws: StorageError.self) {
            try await store.writes.submit {
                try $0.execute("DO $$BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '0A000'; END$$")
            }
        }
        #expect(refusal.reason.contains("0A000"), "\(refusal.reason)")
        try await store.close()
    }

    @Test("Work whose connection is lost before the commit is retried on another connection")
    func lostBeforeCommit() async throws {
        let store = try open()
        let tries = Shared(0)
        let session = try Records.session()
        try await store.writes.submit { db in
            let number = tries.withLock { tries in
                tries += 1
                return tries
            }
            if number == 1 { try db.execute("SELECT pg_terminate_backend(pg_backend_pid())") }
        }
        #expect(tries.withLock { $0 } == 2)
        // An idle connection, and a reader that connects at its first read.
        _ = try await store.signIn(Records.signIn(session: session))
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        try terminateAll()
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        try await store.close()
    }

    private func terminateAll() throws {
        try cluster.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '\(name)'")
    }

    @Test("A connection lost during the commit is an unknown outcome, and nothing is stored twice")
    func lostDuringCommit() async throws {
        let store = try open()
        try cluster.execute(
            """
            CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql AS
            $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$;
            CREATE CONSTRAINT TRIGGER hang_up AFTER INSERT ON audit_events DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION hang_up();
            """, on: url)
        let event = AuditEvent(at: Records.now, AuditEvent.Kind("test.made"), user: nil, by: .latchkey)
        let tries = Shared(0)
        let refusal = try await #require(throws: StorageError.self) {
            try await store.writes.submit { db in
                tries.withLock { $0 += 1 }
                try db.execute("INSERT INTO audit_events (time, kind, actor, details) VALUES (1, 'a', 'b', '{}')")
            }
        }
        #expect(tries.withLock { $0 } == 1)
        #expect(refusal.code == .unavailable)
        #expect(refusal.reason.contains("it is unknown whether a transaction was stored"), "\(refusal.reason)")
        try cluster.execute("DROP TRIGGER hang_up ON audit_events", on: url)
        try await store.addAuditEvent(event)
        #expect(try await store.auditEvents(AuditQuery()).map(\.event) == [event])
        try await store.close()
    }

    @Test("Of two writes with one lock, the second waits for the first one and sees its rows")
    func lock() async throws {
        let (first, second) = (try open(), try open())
        try cluster.execute("CREATE TABLE notes (number bigint)", on: url)
        let gate = Gate()
        async let held: Void = first.writes.submit(locking: [.rule("notes")]) { db in
            try db.execute("INSERT INTO notes VALUES (1)")
            gate.wait()
        }
        defer { gate.open() }
        await gate.whenReached()
        async let seen = second.writes.submit(locking: [.rule("notes")]) { try $0.number("SELECT count(*) FROM notes") }
        let waiting = """
            SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) \
            WHERE locktype = 'advisory' AND NOT granted AND application_name = '\(name)'
            """
        try await until { try cluster.execute(waiting, on: url) == "1" }
        gate.open()
        try await held
        #expect(try await seen == 1)
        try await first.close()
        try await second.close()
    }

    /// Runs a work that fails by itself on each try; returns how often it ran.
    private func tries(of body: @escaping @Sendable (SQLSession, _ count: Int) throws -> Void) async throws -> Int {
        let store = try open()
        let tries = Shared(0)
        let refusal = await Result.of {
            try await store.writes.submit { db in
                let count = tries.withLock { tries in
                    tries += 1
                    return tries
                }
                try body(db, count)
            }
        }
        #expect(throws: StorageError.self) { try refusal.get() }
        try await store.close()
        return tries.withLock { $0 }
    }

    @Test("Of two stores that insert the same key, the second sees at its one retry what the first inserted")
    func sameKey() async throws {
        try cluster.execute("CREATE TABLE notes (number bigint PRIMARY KEY)", on: url)
        let (first, second) = (try open(), try open())
        let gate = Gate()
        let tries = Shared(0)
        async let held: Void = first.writes.submit { db in
            let count = tries.withLock { tries in
                tries += 1
                return tries
            }
            try db.execute("SELECT 1")
            if count == 1 { gate.wait() }
            try db.execute("INSERT INTO notes VALUES (\(count))")
        }
        defer { gate.open() }
        await gate.whenReached()
        try await second.writes.submit { db in try db.execute("INSERT INTO notes VALUES (1)") }
        gate.open()
        try await held
        #expect(tries.withLock { $0 } == 2)
        #expect(try cluster.execute("SELECT number FROM notes ORDER BY 1", on: url) == "1\n2")
        #expect(try await self.tries { db, _ in try db.execute("INSERT INTO notes VALUES (1)") } == 2)
        try await first.close()
        try await second.close()
    }

    @Test(
        "A work that always fails is retried once after a loss, ten times after a collision, else never",
        arguments: [
            ("SELECT pg_terminate_backend(pg_backend_pid())", 2),
            ("DO $$BEGIN RAISE EXCEPTION 'again' USING ERRCODE = 'serialization_failure'; END$$", 11),
            ("DO $$BEGIN RAISE EXCEPTION 'again' USING ERRCODE = 'deadlock_detected'; END$$", 11),
            ("DO $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'division_by_zero'; END$$", 1),
            ("DO $$BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'query_canceled'; END$$", 1),
        ])
    func retries(statement: String, count: Int) async throws {
        #expect(try await tries { db, _ in try db.execute(statement) } == count)
    }

    @Test("Of two deadlocked transactions the server cancels one, and that one is retried")
    func deadlock() async throws {
        let stores = try (0..<2).map { _ in try open(statementTimeout: .seconds(20)) }
        let tables = ["this", "that"]
        for table in tables { try cluster.execute("CREATE TABLE \(table) (number bigint)", on: url) }
        let gates = [Gate(), Gate()]
        let tries = Shared([0, 0])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, store) in stores.enumerated() {
                group.addTask {
                    try await store.writes.submit { db in
                        let count = tries.withLock { tries in
                            tries[index] += 1
                            return tries[index]
                        }
                        try db.execute("LOCK TABLE \(tables[index]) IN EXCLUSIVE MODE")
                        if count == 1 { gates[index].wait() }
                        try db.execute("LOCK TABLE \(tables[1 - index]) IN EXCLUSIVE MODE")
                        try db.execute("INSERT INTO \(tables[index]) VALUES (\(count))")
                    }
                }
            }
            for gate in gates { await gate.whenReached() }
            for gate in gates { gate.open() }
            try await group.waitForAll()
        }
        #expect(tries.withLock { $0 }.sorted() == [1, 2])
        for store in stores { try await store.close() }
    }

    @Test("A watcher is notified of each changed user, and of possible changes whenever listening begins")
    func watching() async throws {
        let (store, other) = (try open(), try open())
        let heard = Shared<[StoreChange]>([])
        store.watch { change in heard.withLock { $0.append(change) } }
        // More than once, if the connection was lost meanwhile.
        try await until { heard.withLock { $0.contains(.anything) } }
        let user = try #require(try await other.signIn(Records.signIn())).user.id
        #expect(try await other.deleteUser(user))
        try await until { heard.withLock { $0.contains(.user(user)) } }
        let beginnings = heard.withLock { $0.count { $0 == .anything } }
        // The listening connection also holds the lock that shows the database's use.
        let end = """
            SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND objid = \
            (SELECT hashtext(current_schema())::bigint & 4294967295)
            """
        #expect(try cluster.execute(end, on: url) == "1")
        try await until { heard.withLock { $0.count { $0 == .anything } } > beginnings }
        let newcomer = try #require(try await other.signIn(Records.signIn())).user.id
        #expect(try await other.deleteUser(newcomer))
        try await until { heard.withLock { $0.contains(.user(newcomer)) } }
        try await store.close()
        try await other.close()
    }

    @Test("A watcher is notified at once of a change that the server announces with its response to a statement")
    func announcedWithResponse() async throws {
        // Right after it has begun to listen, the connection calls this function of the system. Here a function of the
        // same name, in a schema that precedes the system's, announces a change.
        let name = try cluster.execute("SELECT current_schema()", on: url)
        try cluster.execute(
            """
            CREATE SCHEMA \(name)_hook;
            CREATE FUNCTION \(name)_hook.pg_try_advisory_lock_shared(integer, integer) RETURNS boolean
            LANGUAGE plpgsql AS $$BEGIN PERFORM pg_notify('latchkey', '42'); RETURN true; END$$
            """, on: url)
        let path = "\(name)%2C\(name)_hook%2Cpg_catalog"
        let store = try open(url.replacing("search_path%3D\(name)", with: "search_path%3D\(path)"))
        let (heard, signal) = (Shared<[StoreChange]>([]), ChangeSignal())
        store.watch { change in
            heard.withLock { $0.append(change) }
            signal.post()
        }
        // After 30 seconds of silence the connection would be read in any case: this waits for 20.
        let isHeard: Bool? = await signal.wait(atMostSeconds: 5) {
            heard.withLock { $0.contains(.user(UserID(42))) } ? true : nil
        }
        #expect(isHeard == true)
        try await store.close()
    }

    @Test("Calls beyond the waiting limit are refused as overloaded, and the rest complete")
    func exhausted() async throws {
        let store = try open(maximumWaiting: 3)
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        await gate.whenReached()
        async let waiting = withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { _ = try await store.signIn(Records.signIn()) } }
            try await group.waitForAll()
        }
        defer { gate.open() }
        while store.writes.waitingCount < 3 { await Task.yield() }
        await #expect { try await store.signIn(Records.signIn()) } throws: { isError($0, .overloaded) }
        gate.open()
        try await held
        try await waiting
        try await store.close()
    }

    @Test("A write that cannot be stored fails alone; the others of its batch are stored once")
    func oneBadWrite() async throws {
        let store = try open()
        let taken = try Records.session()
        _ = try await store.signIn(Records.signIn(session: taken))
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        defer { gate.open() }
        await gate.whenReached()
        var records = try (0..<20).map { _ in try Records.signIn() }
        records[7] = try Records.signIn(session: taken)
        let calls = records
        async let failures = withTaskGroup(of: Int?.self) { group in
            for (index, record) in calls.enumerated() {
                group.addTask { (try? await store.signIn(record)) == nil ? index : nil }
            }
            return await group.reduce(into: [Int]()) { if let index = $1 { $0.append(index) } }
        }
        while store.writes.waitingCount < calls.count { await Task.yield() }
        gate.open()
        try await held
        #expect(await failures == [7])
        #expect(try cluster.execute("SELECT count(*) FROM sessions", on: url) == "20")
        try await store.close()
    }

    @Test("A server crash under load loses no completed write, and the store reconnects by itself")
    func crash() async throws {
        let cluster = try PostgresCluster()
        let store = try open(cluster.makeSchema(), poolSize: 4)
        let answered = Shared<[TokenHash]>([])
        let errors = Shared<[StorageError]>([])
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    while !isOver.isRaised {
                        let session = try Records.session()
                        let record = try Records.signIn(session: session)
                        do throws(StorageError) {
                            _ = try await store.signIn(record)
                            answered.withLock { $0.append(session.tokenHash) }
                        } catch {
                            errors.withLock { $0.append(error) }
                        }
                    }
                }
            }
            try await until { answered.withLock { $0.count } > 20 }
            try await Self.offThread { try cluster.crash() }
            let before = answered.withLock { $0.count }
            try await until { answered.withLock { $0.count } > before + 20 }
            isOver.raise()
            try await group.waitForAll()
        }
        for token in answered.withLock({ $0 }) {
            #expect(try await store.session(token, at: Records.now) != nil)
        }
        #expect(errors.withLock { $0 }.allSatisfy { $0.code == .unavailable })
        try await store.close()
    }

    @Test("While the server is down, every call fails quickly and ends no session")
    func away() async throws {
        let cluster = try PostgresCluster()
        let store = try open(cluster.makeSchema())
        let session = try Records.session()
        let user = try #require(await store.signIn(Records.signIn(session: session))).user.id
        try await Self.offThread { try cluster.stop() }
        for _ in 0..<50 {
            await #expect { try await store.session(session.tokenHash, at: Records.now) } throws: {
                isError($0, .unavailable)
            }
            await #expect {
                try await store.revokeSession(id: session.id, of: user, in: nil, recording: nil)
            } throws: {
                isError($0, .unavailable)
            }
            await #expect { try await store.check() } throws: { isError($0, .unavailable) }
        }
        try await Self.offThread { try cluster.start() }
        try await until { (try? await store.check()) != nil }
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        try await store.close()
    }

    @Test("A standby is read, but refuses each write with its reason, until it is the primary")
    func standby() async throws {
        let cluster = try PostgresCluster()
        let store = try open(cluster.makeSchema())
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        try await Self.offThread {
            try cluster.stop(.fast)
            try cluster.startAsStandby()
        }
        for _ in 0..<2 {
            let refusal = try await #require(throws: StorageError.self) { try await store.signIn(Records.signIn()) }
            #expect(refusal.code == .unavailable)
            #expect(refusal.reason.contains("during recovery in: BEGIN"), "\(refusal.reason)")
        }
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        try await Self.offThread { try cluster.promote() }
        try await until { (try? await store.signIn(Records.signIn())) != nil }
        try await store.close()
    }

    /// Waits for programs on a thread of its own.
    private static func offThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
