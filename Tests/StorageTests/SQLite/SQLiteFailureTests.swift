import Primitives
import StorageModel
import TestSupport
import Testing

@testable import Storage

@Suite("SQLite: failures of the database")
struct SQLiteFailureTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let store: SQLStore

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.db")
        store = try SQLStore(configuration: SQLiteConfiguration(path: path, busyTimeout: .milliseconds(20)))
    }

    /// Signs new users in until the store fails, at most a thousand.
    private func fill() async throws -> (stored: [NewSession], refusal: StorageError?) {
        var stored: [NewSession] = []
        for _ in 0..<1_000 {
            let session = try Records.session()
            let record = try Records.signIn(session: session)
            do {
                _ = try await store.signIn(record)
            } catch {
                return (stored, error)
            }
            stored.append(session)
        }
        return (stored, nil)
    }

    @Test("A full disk is reported as full; completed writes stay; the store recovers when there is room")
    func full() async throws {
        try await store.onSQLite { db in
            let pages = try db.session.number("PRAGMA page_count")
            try db.execute("PRAGMA max_page_count = \(pages + 5)")
        }
        let (stored, refusal) = try await fill()
        #expect(refusal?.code == .full)
        #expect(!stored.isEmpty)
        for session in stored {
            #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        }
        try await store.check()
        try await store.onSQLite { db in try db.execute("PRAGMA max_page_count = 100000") }
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        try await store.close()
    }

    @Test("In a batch that meets a full disk no caller gets a false success")
    func fullBatch() async throws {
        try await store.onSQLite { db in
            let pages = try db.session.number("PRAGMA page_count")
            try db.execute("PRAGMA max_page_count = \(pages + 5)")
        }
        let sessions = try (0..<300).map { _ in try Records.session() }
        let store = self.store
        let answered = await withTaskGroup(of: TokenHash?.self) { group in
            for session in sessions {
                group.addTask {
                    guard let record = try? Records.signIn(session: session) else { return nil }
                    return (try? await store.signIn(record)) == nil ? nil : session.tokenHash
                }
            }
            return await group.reduce(into: Set()) { if let hash = $1 { $0.insert(hash) } }
        }
        #expect(answered.count < sessions.count)
        for session in sessions {
            let isStored = try await store.session(session.tokenHash, at: Records.now) != nil
            #expect(isStored == answered.contains(session.tokenHash))
        }
        try await store.close()
    }

    @Test("A database that another process keeps locked is unavailable for writing, still read, and recovers")
    func locked() async throws {
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        let holder = try Holder(path: path)
        holder.begin()
        await #expect { try await store.signIn(Records.signIn()) } throws: { isError($0, .unavailable) }
        await #expect { try await store.check() } throws: { isError($0, .unavailable) }
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        holder.end()
        try await store.check()
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        try await store.close()
    }

    @Test("A read-only database is reported as full, and still read")
    func readOnly() async throws {
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        try await store.onSQLite { db in try db.execute("PRAGMA query_only = ON") }
        await #expect { try await store.signIn(Records.signIn()) } throws: { isError($0, .full) }
        #expect(try await store.session(session.tokenHash, at: Records.now) != nil)
        try await store.close()
    }

    @Test("A damaged database is reported as corrupt, without a crash")
    func damaged() async throws {
        for _ in 0..<200 { _ = try await store.signIn(Records.signIn()) }
        try await store.close()
        try directory.overwrite("store.db", from: 4_096, with: 0x5A)
        await #expect {
            let again = try SQLStore(configuration: SQLiteConfiguration(path: path))
            _ = try await again.signIn(Records.signIn())
        } throws: {
            isError($0, .corrupt)
        }
    }

    @Test("Unexpected tables are reported as corrupt")
    func missingTable() async throws {
        try await store.onSQLite { db in try db.execute("DROP TABLE sessions") }
        await #expect { try await store.signIn(Records.signIn()) } throws: { isError($0, .corrupt) }
        await #expect { try await store.session(Records.hash(), at: Records.now) } throws: { isError($0, .corrupt) }
        try await store.close()
    }

    @Test("An error contains the statement and no value")
    func noValues() async throws {
        let session = try Records.session()
        _ = try await store.signIn(Records.signIn(session: session))
        let again = try Records.signIn(
            Records.identity("subject-in-no-log"), profile: [.email: "nobody@example.com"], session: session)
        do {
            _ = try await store.signIn(again)
            Issue.record("stored twice")
        } catch {
            #expect(error.reason.contains("INSERT INTO sessions"))
            #expect(!error.reason.contains("subject-in-no-log"))
            #expect(!error.reason.contains("nobody@example.com"))
        }
        try await store.close()
    }
}

/// Another connection that holds the write lock.
private final class Holder: Sendable {
    private let connection: DatabaseProbe.Connection

    init(path: String) throws {
        connection = try DatabaseProbe(path: path).connect(waiting: false)
    }

    func begin() {
        do { try connection.execute("BEGIN IMMEDIATE") } catch { Issue.record(error) }
    }

    func end() {
        do { try connection.execute("ROLLBACK") } catch { Issue.record(error) }
    }
}
