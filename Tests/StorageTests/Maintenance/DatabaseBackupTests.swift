import Administration
import Foundation
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("Backups of a database")
struct DatabaseBackupTests {
    private let directory: TemporaryDirectory
    private let configuration: SQLiteConfiguration

    init() throws {
        directory = try TemporaryDirectory()
        configuration = SQLiteConfiguration(path: directory.file("latchkey.db"), busyTimeout: .milliseconds(50))
    }

    /// Without the files that SQLite keeps beside an open database.
    private var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                .filter { !["latchkey.db-wal", "latchkey.db-shm"].contains($0) }
        }
    }

    private func back(_ name: String = "copy.db", replaces: Bool = false) throws(StorageError) -> DatabaseBackup {
        try DatabaseBackup.make(of: configuration, at: directory.file(name), replaces: replaces)
    }

    /// Makes the database with a session in it.
    private func fill() async throws -> NewSession {
        let session = try Records.session()
        let store = try SQLStore(configuration: configuration)
        _ = try await store.signIn(Records.signIn(session: session))
        try await store.close()
        return session
    }

    private func holds(_ session: NewSession, in name: String) async throws -> Bool {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file(name)))
        let found = try await store.session(session.tokenHash, at: Records.now)
        try await store.close()
        return found != nil
    }

    @Test("A backup has all writes completed before it began, is one file, and has mode 0600")
    func whole() async throws {
        let session = try await fill()
        let backup = try back()
        #expect(try names == ["copy.db", "latchkey.db"])
        #expect(try directory.size("copy.db") == Int(backup.size))
        // A user, an identity and a session, and the migrations.
        #expect(backup.rows == 10)
        #expect(backup.steps == Schema.version)
        let rights = try FileManager.default.attributesOfItem(atPath: directory.file("copy.db"))[.posixPermissions]
        #expect(rights as? Int == 0o600)
        #expect(try await holds(session, in: "copy.db"))
        #expect(try DatabaseProbe(path: directory.file("copy.db")).texts("PRAGMA integrity_check") == ["ok"])
    }

    @Test("A backup of a database in use is of one moment, and delays no write")
    func underLoad() async throws {
        let store = try SQLStore(configuration: configuration)
        let before = try (0..<50).map { _ in try Records.session() }
        for session in before { _ = try await store.signIn(Records.signIn(session: session)) }
        let (isOver, hasBegun) = (LoadEnd(), LoadEnd())
        async let written = withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var count = 0
                    while !isOver.isSet {
                        _ = try await store.signIn(Records.signIn())
                        count += 1
                        hasBegun.set()
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        try await until { hasBegun.isSet }
        for round in 0..<5 { _ = try back("copy-\(round).db") }
        isOver.set()
        let count = try await written
        #expect(count > 0)
        try await store.close()
        for round in 0..<5 {
            let copy = DatabaseProbe(path: directory.file("copy-\(round).db"))
            let users = try Int(copy.number("SELECT count(*) FROM users"))
            let sessions = try Int(copy.number("SELECT count(*) FROM sessions"))
            // A sign-in makes both in one transaction.
            #expect(users == sessions)
            #expect((50...50 + count).contains(users))
            #expect(try await holds(before[49], in: "copy-\(round).db"))
        }
    }

    @Test("An existing file is not replaced without consent; the database itself never is")
    func refusals() async throws {
        let session = try await fill()
        try directory.write("mine", as: "copy.db")
        let error = try #require(throws: StorageError.self) { try back() }
        #expect(error.reason.contains("--force"))
        #expect(try directory.content("copy.db") == Array("mine".utf8))
        _ = try back(replaces: true)
        #expect(try await holds(session, in: "copy.db"))

        let store = try SQLStore(configuration: configuration)
        _ = try await store.signIn(Records.signIn())
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("other.db"), withDestinationPath: directory.file("latchkey.db"))
        for name in ["latchkey.db", "latchkey.db-wal", "latchkey.db-shm", "other.db"] {
            let error = try #require(throws: StorageError.self) { try back(name, replaces: true) }
            #expect(error.reason.contains("is the database itself"), "\(name)")
        }
        #expect(throws: StorageError.self) { try back("", replaces: true) }
        try await store.close()
        #expect(try await holds(session, in: "latchkey.db"))
    }

    @Test("A failed backup leaves nothing behind")
    func impossible() async throws {
        #expect(throws: StorageError.self) { try back() }
        #expect(try names == [])
        _ = try await fill()
        let error = try #require(throws: StorageError.self) { try back("no/such/copy.db") }
        #expect(error.reason.contains("directory does not exist"))
        try directory.overwrite("latchkey.db", from: 8192, with: 0x5A)
        #expect(throws: StorageError.self) { try back() }
        try DatabaseProbe(path: directory.file("theirs.db")).change("CREATE TABLE t (x)")
        let theirs = SQLiteConfiguration(path: directory.file("theirs.db"))
        #expect(throws: StorageError.self) {
            try DatabaseBackup.make(of: theirs, at: directory.file("copy.db"), replaces: false)
        }
        #expect(try names == ["latchkey.db", "theirs.db"])
    }
}

@Suite("Restoring a database")
struct DatabaseRestoreTests {
    private let directory: TemporaryDirectory
    private let configuration: SQLiteConfiguration

    init() throws {
        directory = try TemporaryDirectory()
        configuration = SQLiteConfiguration(path: directory.file("latchkey.db"), busyTimeout: .milliseconds(50))
    }

    /// Without the files that SQLite keeps beside an open database.
    private var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
                .filter { !["latchkey.db-wal", "latchkey.db-shm"].contains($0) }
        }
    }

    private func restore(_ name: String = "copy.db") throws(StorageError) -> DatabaseRestore {
        try DatabaseRestore.run(from: directory.file(name), to: configuration, mark: "former")
    }

    private func signIn() async throws -> NewSession {
        let session = try Records.session()
        let store = try SQLStore(configuration: configuration)
        _ = try await store.signIn(Records.signIn(session: session))
        try await store.close()
        return session
    }

    private func holds(_ session: NewSession, in name: String = "latchkey.db") async throws -> Bool {
        let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file(name)))
        let found = try await store.session(session.tokenHash, at: Records.now)
        try await store.close()
        return found != nil
    }

    private func back() throws {
        _ = try DatabaseBackup.make(of: configuration, at: directory.file("copy.db"), replaces: false)
    }

    @Test("A restore brings the backup's content back; the former database keeps the later content; both are usable")
    func roundTrip() async throws {
        let early = try await signIn()
        try back()
        let late = try await signIn()
        let restored = try restore()
        #expect(restored.steps == Schema.version)
        #expect(restored.former == directory.file("latchkey.db.former"))
        #expect(try names == ["copy.db", "latchkey.db", "latchkey.db.former"])
        #expect(try await holds(early))
        #expect(try await !holds(late))
        #expect(try await holds(early, in: "latchkey.db.former"))
        #expect(try await holds(late, in: "latchkey.db.former"))
        _ = try await signIn()
        // A database that was put aside is never overwritten.
        #expect(throws: StorageError.self) { try restore() }
    }

    @Test("A backup can be restored where there is no database, or an empty file")
    func missing() async throws {
        let session = try await signIn()
        try back()
        for isEmpty in [false, true] {
            try FileManager.default.removeItem(atPath: configuration.path)
            if isEmpty { try directory.write("", as: "latchkey.db") }
            #expect(try restore().former == nil)
            #expect(try await holds(session))
        }
        #expect(try names == ["copy.db", "latchkey.db"])
    }

    @Test("A damaged database is put aside unchanged")
    func overDamage() async throws {
        let session = try await signIn()
        try back()
        try directory.write(String(repeating: "not a database ", count: 1000), as: "latchkey.db")
        #expect(try restore().former == directory.file("latchkey.db.former"))
        #expect(try directory.content("latchkey.db.former").starts(with: Array("not a database".utf8)))
        #expect(try await holds(session))
    }

    @Test("A database of a newer version is put aside, too: the backup before an upgrade undoes the upgrade")
    func overNewer() async throws {
        let session = try await signIn()
        try back()
        try DatabaseProbe(path: configuration.path).change("INSERT INTO grdb_migrations VALUES ('99 of the future')")
        #expect(throws: StorageError.self) { try SQLStore(configuration: configuration) }
        let restored = try restore()
        #expect(restored.steps == Schema.version)
        #expect(try await holds(session))
        let former = DatabaseProbe(path: try #require(restored.former))
        let marks = "SELECT count(*) FROM grdb_migrations WHERE identifier = '99 of the future'"
        #expect(try former.number(marks) == 1)
    }

    @Test("While the database is open, no restore runs, whether it is busy or idle")
    func inUse() async throws {
        let early = try await signIn()
        try back()
        let store = try SQLStore(configuration: configuration)
        let late = try Records.session()
        _ = try await store.signIn(Records.signIn(session: late))
        let error = try #require(throws: StorageError.self) { try restore() }
        #expect(error.reason.contains("stop the servers"))
        #expect(try await store.session(late.tokenHash, at: Records.now) != nil)
        _ = try await store.signIn(Records.signIn())
        try await store.close()
        #expect(try names == ["copy.db", "latchkey.db"])
        #expect(try await holds(early))
        #expect(try await holds(late))
    }

    /// A change to a valid backup, and a word of the refusal.
    private static let hostile: [(String, @Sendable (TemporaryDirectory) throws -> Void, String)] = [
        ("a text", { try $0.write("SELECT 1; -- no database", as: "copy.db") }, "not a database"),
        ("empty", { try $0.write("", as: "copy.db") }, "is empty"),
        (
            "a directory",
            {
                try FileManager.default.removeItem(atPath: $0.file("copy.db"))
                try FileManager.default.createDirectory(atPath: $0.file("copy.db"), withIntermediateDirectories: false)
            }, "is not a file"
        ),
        ("missing", { try FileManager.default.removeItem(atPath: $0.file("copy.db")) }, "no such file"),
        (
            "cut off",
            { try Data(try $0.content("copy.db").dropLast(9000)).write(to: URL(filePath: $0.file("copy.db"))) },
            "malformed"
        ),
        ("overwritten", { try $0.overwrite("copy.db", from: 8192, with: 0x5A) }, "m"),
        ("with a log beside it", { try $0.write("x", as: "copy.db-wal") }, "log beside it"),
        (
            "another program's",
            {
                try FileManager.default.removeItem(atPath: $0.file("copy.db"))
                try change($0, "CREATE TABLE theirs (x)")
            }, "another program"
        ),
        (
            "without tables",
            {
                try FileManager.default.removeItem(atPath: $0.file("copy.db"))
                try change($0, "CREATE TABLE t (x); DROP TABLE t")
            }, "no tables"
        ),
        ("a newer version's", { try change($0, "INSERT INTO grdb_migrations VALUES ('99 of the future')") }, "newer"),
        (
            "with a trigger of its own",
            {
                try change(
                    $0, "CREATE TRIGGER spy AFTER INSERT ON users BEGIN UPDATE users SET email = 'x@example.com'; END")
            }, "triggers"
        ),
        (
            "with another text in a trigger",
            {
                let replaced = "replace(sql, quote('{}'), quote('{ }'))"
                try change($0, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = \(replaced)")
            }, "triggers"
        ),
        (
            "with a view in the place of a table",
            { try change($0, "DROP TABLE receipts; CREATE VIEW receipts AS SELECT 1") }, "tables"
        ),
        ("without an index", { try change($0, "DROP INDEX sessions_by_user") }, "indexes"),
        ("an older version's", { try change($0, Version35.older) }, "commit fd443933"),
        (
            "with a row that refers to none",
            { try change($0, "PRAGMA foreign_keys = OFF; DELETE FROM users") }, "refers to one that is missing"
        ),
    ]

    private static func change(_ directory: TemporaryDirectory, _ sql: String) throws {
        let connection = try DatabaseProbe(path: directory.file("copy.db")).connect(withForeignKeys: false)
        defer { connection.close() }
        try connection.execute(sql)
    }

    @Test("An invalid backup is refused with the reason, and the database is not changed")
    func hostile() async throws {
        let session = try await signIn()
        try back()
        let good = Data(try directory.content("copy.db"))
        for (name, spoil, word) in Self.hostile {
            try? FileManager.default.removeItem(atPath: directory.file("copy.db"))
            try? FileManager.default.removeItem(atPath: directory.file("copy.db-wal"))
            try good.write(to: URL(filePath: directory.file("copy.db")))
            try spoil(directory)
            let error = #expect(throws: StorageError.self, "\(name)") { try restore() }
            #expect(error?.reason.contains(word) == true, "\(name): \(error?.reason ?? "")")
            #expect(try !names.contains { $0.contains("former") || $0.contains(".part-") }, "\(name)")
        }
        #expect(throws: StorageError.self) { try restore("latchkey.db") }
        #expect(try await holds(session))
    }

    @Test("A backup that version 35 made is accepted, and the next start brings it up to date")
    func backupOfVersion35() async throws {
        try DatabaseProbe(path: directory.file("copy.db")).change(Version35.sqlite)
        #expect(try restore().steps == 35)
        let session = try await signIn()
        #expect(try await holds(session))
        #expect(try DatabaseSteps(of: configuration).pending == [])
    }

    @Test("A backup of a database that single migrations made is accepted, and so is its restored copy")
    func version35() async throws {
        try DatabaseProbe(path: configuration.path).change(Version35.sqlite)
        let session = try await signIn()
        try back()
        #expect(try restore().steps == Schema.version)
        #expect(try await holds(session))
        #expect(try DatabaseSteps(of: configuration).pending == [])
        try FileManager.default.removeItem(atPath: directory.file("copy.db"))
        try back()
        let restored = try DatabaseRestore.run(
            from: directory.file("copy.db"), to: configuration, mark: "another")
        #expect(restored.steps == Schema.version)
    }

    @Test("A missing database has all migrations pending, and the check does not make it")
    func steps() async throws {
        let steps = try DatabaseSteps(of: configuration)
        #expect(steps.done == [])
        #expect(
            steps.pending == [
                "35 all tables", "36 backchannel authentications", "37 former tables",
                "38 rows removed with their user", "39 webhooks", "40 events of sessions", "41 statistics",
            ])
        #expect(try names == [])
        #expect(try await DatabaseSteps.run(on: configuration) == steps)
        #expect(try DatabaseSteps(of: configuration).done == steps.pending)
    }
}

/// A value that is set once, by any thread.
private final class LoadEnd: @unchecked Sendable {
    // @unchecked: the lock guards the value.
    private let lock = NSLock()
    private var value = false

    var isSet: Bool { lock.withLock { value } }

    func set() { lock.withLock { value = true } }
}
