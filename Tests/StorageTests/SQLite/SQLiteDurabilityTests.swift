import Foundation
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import Storage

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
                try db.text("PRAGMA \(name)") ?? ""
            }
        }
        #expect(found == ["wal", synchronous == .full ? "2" : "1", "1", "1"])
        try await store.close()
    }

    /// Writes more than the log grows before it is moved.
    private func writeMuch(_ store: SQLStore, bytes: Int = 17_000_000) async throws {
        try await store.onSQLite { db in
            try db.execute("INSERT INTO bulk VALUES (zeroblob(\(bytes)))")
        }
        // The log is moved after the callers are resumed: the next call runs after that.
        try await store.writes.submit { _ in }
    }

    /// What a crash right now would leave.
    private func filesNow() throws -> SQLiteConfiguration {
        let copy = directory.file("copy.db")
        for end in ["", "-wal"] {
            try? FileManager.default.removeItem(atPath: copy + end)
            try FileManager.default.copyItem(atPath: path + end, toPath: copy + end)
        }
        return SQLiteConfiguration(path: copy)
    }

    @Test("What a call has stored is in the files when it returns, however large", arguments: Synchronous.allCases)
    func commits(synchronous: Synchronous) async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: synchronous))
        try await store.onSQLite { db in try db.execute("CREATE TABLE bulk (content BLOB)") }
        // Of one page and of many.
        for count in [1, 100_000, 119_000, 123_000, 127_000, 140_000, 1_000_000, 1] {
            let session = try Records.session()
            _ = try await store.signIn(Records.signIn(session: session))
            try await store.onSQLite { db in
                try db.execute("INSERT INTO bulk VALUES (randomblob(\(count)))")
            }
            let copy = try SQLStore(configuration: filesNow())
            #expect(try await copy.session(session.tokenHash, at: Records.now) != nil)
            let last = try await copy.onSQLite { db in
                try db.session.number("SELECT length(content) FROM bulk ORDER BY rowid DESC")
            }
            #expect(last == count)
            try await copy.close()
        }
        try await store.close()
    }

    /// In a process of its own, because the limit of a file's size is the process's.
    @Test("A commit whose frames do not fit into the log fails, and stores nothing")
    func failedLogWrite() async {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            let directory = try TemporaryDirectory()
            let configuration = SQLiteConfiguration(path: directory.file("store.db"))
            let store = try SQLStore(configuration: configuration)
            try await store.onSQLite { db in try db.execute("CREATE TABLE bulk (content BLOB)") }
            // No frame of a small or large commit fits; the first one fits in part; some of a large commit fit.
            for (room, bytes) in [(0, 1), (1_000, 1), (0, 300_000), (200_000, 300_000)] {
                let sessions = try (0..<5).map { _ in try Records.session() }
                try limitFileSize(to: rlim_t(directory.size("store.db-wal") + room))
                let stored = await SQLiteDurabilityTests.signIn(sessions, in: store)
                let failure = await #expect(throws: StorageError.self) {
                    try await store.onSQLite { db in
                        try db.execute("INSERT INTO bulk VALUES (randomblob(\(bytes)))")
                    }
                }
                try limitFileSize(to: .max)
                #expect(failure?.code == .full)
                // Single sign-ins fit into the larger room.
                #expect(stored.isEmpty == (room < 200_000))
                try await SQLiteDurabilityTests.expect(stored, of: sessions, in: store)
                let other = try SQLStore(configuration: configuration)
                try await SQLiteDurabilityTests.expect(stored, of: sessions, in: other)
                try await other.close()
                #expect(try await store.signIn(Records.signIn())?.isNew == true)
            }
            try await store.close()
        }
    }

    /// Signs in users at once; returns the sessions of those that were told so.
    private static func signIn(_ sessions: [NewSession], in store: SQLStore) async -> Set<TokenHash> {
        await withTaskGroup(of: TokenHash?.self) { group in
            for session in sessions {
                group.addTask {
                    (try? await store.signIn(Records.signIn(session: session))) == nil ? nil : session.tokenHash
                }
            }
            return await group.reduce(into: []) { if let hash = $1 { $0.insert(hash) } }
        }
    }

    /// Expects that a store has some of the sessions, and is sound.
    private static func expect(_ stored: Set<TokenHash>, of sessions: [NewSession], in store: SQLStore) async throws {
        for session in sessions {
            let isStored = try await store.session(session.tokenHash, at: Records.now) != nil
            #expect(isStored == stored.contains(session.tokenHash))
        }
        let found = try await store.onSQLite { db in
            (
                try db.session.number("SELECT count(*) FROM bulk"),
                try db.text("PRAGMA integrity_check")
            )
        }
        #expect(found == (0, "ok"))
    }

    @Test("A transaction reads and changes pages that it has moved to the log", arguments: Synchronous.allCases)
    func spills(synchronous: Synchronous) async throws {
        let configuration = SQLiteConfiguration(path: path, synchronous: synchronous, pageCacheKiB: 64)
        let store = try SQLStore(configuration: configuration)
        try await store.onSQLite { db in try db.execute("CREATE TABLE bulk (id INTEGER PRIMARY KEY, content)") }
        try await store.onSQLite { db in
            for id in 0..<2_000 {
                try db.execute("INSERT INTO bulk VALUES (\(id), zeroblob(1000))")
            }
            // Pages of the beginning, which the small cache does not hold any more.
            #expect(try db.session.number("SELECT sum(length(content)) FROM bulk") == 2_000_000)
            try db.execute("UPDATE bulk SET content = randomblob(900) WHERE id % 7 = 0")
            #expect(try db.session.number("SELECT count(*) FROM bulk WHERE length(content) = 900") == 286)
        }
        let copy = try SQLStore(configuration: filesNow())
        let found = try await copy.onSQLite { db in
            (
                try db.session.number("SELECT count(*) FROM bulk WHERE length(content) = 900"),
                try db.text("PRAGMA integrity_check")
            )
        }
        #expect(found == (286, "ok"))
        try await copy.close()
        try await store.close()
    }

    @Test("A rolled back transaction leaves nothing behind that could overwrite another process's commits")
    func rollbackOfSpill() async throws {
        struct Stop: Error {}
        for closes in [false, true] {
            try? FileManager.default.removeItem(atPath: path)
            let (store, other) = (
                try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: .full, pageCacheKiB: 64)),
                try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: .full))
            )
            try await other.onSQLite { db in
                try db.execute("CREATE TABLE bulk (id INTEGER PRIMARY KEY, content)")
            }
            await #expect(throws: StorageError.self) {
                try await store.onSQLite { db in
                    // More pages than the cache holds.
                    for id in 0..<100 { try db.execute("INSERT INTO bulk VALUES (\(id), zeroblob(1000))") }
                    throw Stop()
                }
            }
            for id in 1_000..<1_060 {
                try await other.onSQLite { db in
                    try db.execute("INSERT INTO bulk VALUES (\(id), randomblob(2000))")
                }
            }
            if closes {
                try await store.close()
            } else {
                try await store.onSQLite { db in try db.execute("INSERT INTO bulk VALUES (2000, 'last')") }
            }
            let copy = try SQLStore(configuration: filesNow())
            for reader in [copy, other] {
                let found = try await reader.onSQLite { db in
                    (
                        try db.session.number("SELECT count(*) FROM bulk"),
                        try db.text("PRAGMA integrity_check")
                    )
                }
                #expect(found == (closes ? 60 : 61, "ok"))
                try await reader.close()
            }
            if !closes { try await store.close() }
        }
    }

    @Test(
        "The write-ahead log is moved into the database while the store is open, and used again",
        arguments: Synchronous.allCases)
    func checkpoints(synchronous: Synchronous) async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: synchronous))
        try await store.onSQLite { db in try db.execute("CREATE TABLE bulk (content BLOB)") }
        try await writeMuch(store, bytes: 5_000_000)
        #expect(try directory.size("store.db") > 5_000_000)
        try await writeMuch(store, bytes: 5_000_000)
        #expect(try directory.size("store.db-wal") < 6_000_000)
        try await store.close()
    }

    @Test("A long read delays no write, and the log is moved after it")
    func longReader() async throws {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: path, synchronous: .normal))
        try await store.onSQLite { db in try db.execute("CREATE TABLE bulk (content BLOB)") }
        let reader = try DatabaseProbe(path: path).connect()
        try reader.execute("BEGIN; SELECT count(*) FROM users")
        for _ in 0..<5 { try await writeMuch(store) }
        let grown = try directory.size("store.db-wal")
        #expect(grown > 80_000_000)
        reader.close()
        try await writeMuch(store)
        try await writeMuch(store)
        // The log restarted and was truncated to its limit.
        #expect(try directory.size("store.db-wal") < grown)
        try await store.close()
    }
}

/// Limits the size of the files that this process writes.
private func limitFileSize(to size: rlim_t) throws {
    let kind = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    var limit = rlimit()
    try #require(getrlimit(kind, &limit) == 0)
    limit.rlim_cur = min(size, limit.rlim_max)
    try #require(setrlimit(kind, &limit) == 0)
}
