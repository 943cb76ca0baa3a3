import GRDB
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("SQLite: how writes reach the disk")
struct SQLiteDurabilityTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.db")
    }

    @Test("The writing connection has the configured settings", arguments: Synchronous.allCases)
    func settings(synchronous: Synchronous) async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: synchronous))
        let found = try await store.onSQLite { db in
            try ["journal_mode", "synchronous", "foreign_keys", "secure_delete"].map { name in
                try String.fetchOne(db, sql: "PRAGMA \(name)") ?? ""
            }
        }
        #expect(found == ["wal", synchronous == .full ? "2" : "1", "1", "1"])
        try await store.close()
    }

    /// Writes about 17 MB, more than the log grows before it is moved.
    private func writeMuch(_ store: SQLStore) async throws {
        try await store.onSQLite { db in
            try db.execute(sql: "INSERT INTO bulk VALUES (zeroblob(17000000))")
        }
        // The log is moved after the callers are resumed: the next call runs after that.
        try await store.writes.submit { _ in }
    }

    @Test("The write-ahead log is moved into the database while the store is open, and used again")
    func checkpoints() async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: .normal))
        try await store.onSQLite { db in try db.execute(sql: "CREATE TABLE bulk (content BLOB)") }
        try await writeMuch(store)
        #expect(try directory.size("store.db") > 16_000_000)
        try await writeMuch(store)
        #expect(try directory.size("store.db-wal") < 20_000_000)
        try await store.close()
    }

    @Test("A long read delays no write, and the log is moved after it")
    func longReader() async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: .normal))
        try await store.onSQLite { db in try db.execute(sql: "CREATE TABLE bulk (content BLOB)") }
        let reader = try DatabaseQueue(path: path, configuration: Self.readerSettings)
        try reader.inDatabase { db in
            try db.execute(sql: "BEGIN")
            _ = try Int.fetchOne(db, sql: "SELECT count(*) FROM users")
        }
        for _ in 0..<5 { try await writeMuch(store) }
        let grown = try directory.size("store.db-wal")
        #expect(grown > 80_000_000)
        try reader.inDatabase { db in try db.execute(sql: "COMMIT") }
        try reader.close()
        try await writeMuch(store)
        try await writeMuch(store)
        // The log restarted and was truncated to its limit.
        #expect(try directory.size("store.db-wal") < grown)
        try await store.close()
    }

    private static var readerSettings: Configuration {
        var settings = Configuration()
        settings.allowsUnsafeTransactions = true
        return settings
    }
}
