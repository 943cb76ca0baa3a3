import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("SQLite: opening and closing")
struct SQLiteOpeningTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.db")
    }

    private func open(_ path: String) throws(StorageError) -> SQLStore {
        try SQLStore(
            configuration: SQLiteConfiguration(
                path: path, busyTimeout: .milliseconds(20), maximumWait: .seconds(60)))
    }

    private func refusal(_ path: String) throws -> StorageError {
        try #require(throws: StorageError.self) { try open(path) }
    }

    private func content(_ path: String) throws -> Data {
        try Data(contentsOf: URL(filePath: path))
    }

    @Test("Rows survive closing and reopening, and the tables are made once")
    func reopens() async throws {
        let session = try Records.session()
        let first = try open(path)
        let user = try await first.signIn(Records.signIn(session: session))?.user
        try await first.close()
        let second = try open(path)
        #expect(try await second.session(session.tokenHash, at: Records.now)?.user == user)
        try await second.close()
    }

    @Test("Closing moves everything into one file")
    func closeCheckpoints() async throws {
        let store = try open(path)
        _ = try await store.signIn(Records.signIn())
        try await store.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["store.db"])
    }

    @Test("After closing every call is refused as closed, and closing again does nothing")
    func closed() async throws {
        let store = try open(path)
        try await store.close()
        await #expect { try await store.session(Records.hash(), at: Records.now) } throws: { isError($0, .closed) }
        await #expect { try await store.signIn(Records.signIn()) } throws: { isError($0, .closed) }
        await #expect { try await store.check() } throws: { isError($0, .closed) }
        try await store.close()
    }

    @Test("Work that was admitted before closing completes")
    func closeFinishes() async throws {
        let store = try open(path)
        let sessions = try (0..<50).map { _ in try Records.session() }
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        await gate.whenReached()
        async let stored = withThrowingTaskGroup(of: Void.self) { group in
            for session in sessions {
                let record = try Records.signIn(session: session)
                group.addTask { _ = try await store.signIn(record) }
            }
            try await group.waitForAll()
        }
        while store.writes.waitingCount < sessions.count { await Task.yield() }
        async let closing: Void = store.close()
        gate.open()
        try await held
        try await stored
        try await closing
        let again = try open(path)
        for session in sessions { #expect(try await again.session(session.tokenHash, at: Records.now) != nil) }
    }

    @Test("A new database and the files beside it have mode 0600")
    func mode() async throws {
        let store = try open(path)
        _ = try await store.signIn(Records.signIn())
        for file in [path, path + "-wal", path + "-shm"] {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(file)")
        }
        try await store.close()
    }

    @Test(
        "A path with a special meaning for SQLite names a plain file",
        arguments: [
            (":memory:", "./:memory:"), ("file:x?mode=memory", "./file:x?mode=memory"), ("store.db", "./store.db"),
            ("/var/lib/store.db", "/var/lib/store.db"),
        ])
    func oddNames(path: String, given: String) throws {
        #expect(try DatabaseFile(path).path == given)
    }

    @Test("An invalid path is refused with the reason", arguments: [("", "empty"), ("a\u{0}b", "NUL")])
    func badPath(path: String, word: String) throws {
        let error = try refusal(path)
        #expect(error.code == .unavailable)
        #expect(error.reason.contains(word))
    }

    @Test("A directory is refused")
    func isDirectory() throws {
        let error = try refusal(directory.path)
        #expect(error.code == .unavailable)
        #expect(error.reason.contains("is a directory"))
    }

    @Test("A missing directory is reported, not made")
    func noDirectory() throws {
        let error = try refusal(directory.file("missing/store.db"))
        #expect(error.code == .unavailable)
        #expect(error.reason.contains("directory does not exist"))
        #expect(!FileManager.default.fileExists(atPath: directory.file("missing")))
    }

    @Test("A file that is not a database is refused and not changed")
    func notADatabase() throws {
        let text = Data(repeating: UInt8(ascii: "x"), count: 5_000)
        try text.write(to: URL(filePath: path))
        #expect(try refusal(path).code == .corrupt)
        #expect(try content(path) == text)
    }

    /// A database as a killed process leaves it, with a log; and a connection that reads the log.
    private func interrupted() async throws -> (session: NewSession, reader: DatabaseProbe.Connection) {
        let session = try Records.session()
        let former = try open(directory.file("former.db"))
        _ = try await former.signIn(Records.signIn(session: session))
        for end in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: directory.file("former.db" + end), toPath: path + end)
        }
        try await former.close()
        let reader = try DatabaseProbe(path: path).connect()
        try reader.execute("BEGIN; SELECT count(*) FROM users")
        return (session, reader)
    }

    @Test("The start waits for a program that reads an earlier process's log, and then moves the log")
    func logIsAwaited() async throws {
        let (session, reader) = try await interrupted()
        let path = path
        async let opened = Task.detached {
            try SQLStore(configuration: SQLiteConfiguration(path: path, busyTimeout: .seconds(30)))
        }.value
        // However long the start takes: the pause makes it likely that it has to wait.
        try await Task.sleep(for: .milliseconds(300))
        reader.close()
        let store = try await opened
        #expect(store.problemAtStart == nil)
        #expect(try directory.size("store.db-wal") == 0)
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        try await store.close()
    }

    @Test("If the program reads for longer, the start says so, writes go on, and the log is moved afterwards")
    func logIsMovedLater() async throws {
        let (session, reader) = try await interrupted()
        let store = try open(path)
        let problem = try #require(store.problemAtStart)
        #expect(problem.code == .unavailable)
        #expect(problem.reason.contains("another process reads"))
        let former = try directory.size("store.db-wal")
        #expect(former > 0)
        _ = try await store.signIn(Records.signIn())
        #expect(try directory.size("store.db-wal") > former)
        reader.close()
        try await until {
            try await store.check()
            return try directory.size("store.db-wal") == 0
        }
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        try await store.close()
    }

    @Test("A newer version's database is refused and not changed")
    func newerVersion() async throws {
        try await open(path).close()
        try DatabaseProbe(path: path).change("INSERT INTO grdb_migrations VALUES ('99 from the future')")
        let before = try content(path)
        let error = try refusal(path)
        #expect(error.code == .corrupt)
        #expect(error.reason.contains("newer version"))
        #expect(try content(path) == before)
    }

    @Test("A dangling link is refused: through it SQLite would make a file that all may read")
    func danglingLink() throws {
        let place = path + "-elsewhere"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: place)
        let error = try refusal(path)
        #expect(error.reason.contains("is a link to a file that is not there"))
        #expect(!FileManager.default.fileExists(atPath: place))
    }

    @Test("Another program's database is refused and not changed")
    func foreignDatabase() async throws {
        try DatabaseProbe(path: path).change("CREATE TABLE recipes (name TEXT)")
        let before = try content(path)
        let error = try refusal(path)
        #expect(error.code == .corrupt)
        #expect(error.reason.contains("another program"))
        #expect(try content(path) == before)
    }

    // Ten times, because two stores must collide.
    @Test("Several stores can open one new database at the same moment", arguments: 0..<10)
    func concurrentOpening(_ round: Int) async throws {
        let path = self.path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let store = try SQLStore(
                        configuration: SQLiteConfiguration(path: path, busyTimeout: .seconds(60)))
                    _ = try await store.signIn(Records.signIn())
                    try await store.close()
                }
            }
            try await group.waitForAll()
        }
        let database = DatabaseProbe(path: path)
        let counts = try ["users", "sessions"].map { try database.number("SELECT count(*) FROM \($0)") }
        #expect(counts == [4, 4])
    }
}

func isError(_ error: any Error, _ code: StorageError.Code) -> Bool {
    (error as? StorageError)?.code == code
}
