import CLatchkeySQLite
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL
@testable import Storage

/// Instances that start at the same moment on an empty database: one makes the tables while another checks whether
/// there are any. The check runs several queries, and here the tables appear right before each of them.
@Suite("Tables that another instance makes at this moment")
struct StartRaceTests {
    /// The check calls `to_regclass` once for each table: a function of that name, in a schema that
    /// precedes the system's, makes another instance's tables before its n-th call.
    @Test("are Latchkey's own, on PostgreSQL", arguments: 1...2)
    func postgres(call: Int) async throws {
        let cluster = try PostgresCluster.shared()
        let made = try cluster.makeSchema()
        let name = try cluster.execute("SELECT current_schema()", on: made)
        let other = try PostgresConfiguration(url: Secret(made), poolSize: 2).open(observer: nil)
        try await other.close()
        try cluster.execute(
            """
            CREATE SCHEMA \(name)_hook;
            CREATE SCHEMA \(name)_here;
            CREATE TABLE \(name)_hook.calls AS SELECT 0 AS number;
            CREATE FUNCTION \(name)_hook.to_regclass(asked text) RETURNS regclass LANGUAGE plpgsql AS $$
            DECLARE present integer;
            BEGIN
                UPDATE \(name)_hook.calls SET number = number + 1 RETURNING number INTO present;
                IF present = \(call) THEN
                    DROP SCHEMA \(name)_here;
                    ALTER SCHEMA \(name) RENAME TO \(name)_here;
                END IF;
                RETURN pg_catalog.to_regclass(asked);
            END$$
            """, on: made)
        let path = "\(name)_here%2C\(name)_hook%2Cpg_catalog"
        let url = made.replacing("search_path%3D\(name)", with: "search_path%3D\(path)")
        let store = try PostgresConfiguration(url: Secret(url), poolSize: 2).open(observer: nil)
        try await store.check()
        try await store.close()
        let calls = try #require(Int(try cluster.execute("SELECT number FROM \(name)_hook.calls", on: made)))
        #expect(calls >= 2)
    }

    @Test("are Latchkey's own, on SQLite", arguments: 1...2)
    func sqlite(question: Int) async throws {
        let directory = try TemporaryDirectory()
        let configuration = SQLiteConfiguration(path: directory.file("store.db"))
        // An empty database, as an instance that has just started leaves it.
        try DatabaseProbe(path: configuration.path).connect().execute(
            "PRAGMA journal_mode = WAL; PRAGMA user_version = 0")
        let interruption = Interruption(before: question) { try? SQLStore(configuration: configuration) }
        try SQLiteConnections.read(configuration.path, configuration) { db in
            interruption.watch(db)
            _ = try Schema.missing(db)
        }
        try await #require(interruption.other).close()
    }
}

/// Opens another store when a connection begins a certain statement.
private final class Interruption {
    private var count = 0
    private let last: Int
    private let open: () -> SQLStore?
    private(set) var other: SQLStore?

    init(before last: Int, open: @escaping () -> SQLStore?) {
        self.last = last
        self.open = open
    }

    func watch(_ connection: Storage.SQLiteConnection) {
        sqlite3_trace_v2(
            connection.handle, UInt32(SQLITE_TRACE_STMT),
            { _, context, _, _ in
                guard let context else { return 0 }
                Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue().begin()
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func begin() {
        count += 1
        if count == last { other = open() }
    }
}
