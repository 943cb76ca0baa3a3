import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@Suite("SQLite: space that is given back")
struct SQLiteSpaceTests {
    private let directory: TemporaryDirectory
    private let configuration: SQLiteConfiguration

    init() throws {
        directory = try TemporaryDirectory()
        // Thousands of calls wait together.
        configuration = SQLiteConfiguration(path: directory.file("store.db"), maximumWait: .seconds(60))
    }

    private func fill(_ store: SQLStore) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4_000 {
                let record = OneTimeRecord(
                    handle: Records.hash(), purpose: "test", content: Array(repeating: 1, count: 2_000),
                    expiresAt: Records.now)
                group.addTask { _ = try await store.addOneTimeRecord(record, insteadOf: []) }
            }
            try await group.waitForAll()
        }
    }

    @Test("The file of a new database gets shorter when its rows have expired, but for a reserve")
    func shortens() async throws {
        let store = try SQLStore(configuration: configuration)
        try await fill(store)
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        #expect(try await store.purgeExpired(at: Records.now, limit: 10_000) == 4_000)
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        try await store.close()
        #expect(try directory.size("store.db") < 2 << 20)
        let again = try SQLStore(configuration: configuration)
        #expect(try await again.session(session.tokenHash, at: Records.now) != nil)
        try await again.close()
        #expect(try DatabaseProbe(path: configuration.path).texts("PRAGMA integrity_check") == ["ok"])
    }

    @Test("The file of a database from a former version keeps its length, and works as before")
    func former() async throws {
        try DatabaseProbe(path: configuration.path).change("CREATE TABLE t (x); DROP TABLE t")
        let store = try SQLStore(configuration: configuration)
        try await fill(store)
        #expect(try await store.purgeExpired(at: Records.now, limit: 10_000) == 4_000)
        try await fill(store)
        try await store.close()
        let length = try directory.size("store.db")
        #expect(length > 8 << 20 && length < 24 << 20, "\(length)")
    }
}
