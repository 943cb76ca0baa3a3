import Primitives
import StorageModel
import TestSupport
import Testing

@testable import Storage

@Suite("SQLite: writes that share a commit")
struct GroupCommitTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("store.db")
    }

    private func open(maximumBatch: Int = 256, maximumWaiting: Int = 4_096) throws -> SQLStore {
        try SQLStore(
            configuration: SQLiteConfiguration(
                path: path, busyTimeout: .milliseconds(20), maximumBatch: maximumBatch, maximumWaiting: maximumWaiting,
                maximumWait: .seconds(60)))
    }

    /// Holds the writing connection until `count` calls wait behind it, then lets them go together.
    private func together<Success: Sendable>(
        _ calls: [@Sendable () async throws -> Success], in store: SQLStore
    ) async throws -> [Result<Success, any Error>] {
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        await gate.whenReached()
        async let results = withTaskGroup(of: (Int, Result<Success, any Error>).self) { group in
            for (index, call) in calls.enumerated() {
                group.addTask { (index, await Result.of(call)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        while store.writes.waitingCount < calls.count { await Task.yield() }
        gate.open()
        try await held
        return await results
    }

    private func count(_ table: String) throws -> Int64 {
        try DatabaseProbe(path: path).number("SELECT count(*) FROM \(table)")
    }

    @Test("Calls that wait during a commit share the next one", arguments: [(256, 1), (16, 4)])
    func sharesCommit(maximumBatch: Int, batches: Int) async throws {
        let store = try open(maximumBatch: maximumBatch)
        let records = try (0..<64).map { _ in try Records.signIn() }
        let before = store.writes.batchCount
        let results = try await together(records.map { record in { try await store.signIn(record) } }, in: store)
        #expect(results.allSatisfy { (try? $0.get())??.isNew == true })
        // One more for the work that held the connection.
        #expect(store.writes.batchCount - before == batches + 1)
        #expect(try count("sessions") == 64)
        try await store.close()
    }

    @Test("Sign-ins that allow a delay share a commit, and a write that allows none ends it")
    func delayedCommit() async throws {
        let store = try open()
        // The first one ever does not wait.
        _ = try await store.signIn(Records.delayedSignIn())
        let before = store.writes.batchCount
        async let signedIn = withThrowingTaskGroup(of: Bool?.self) { group in
            for _ in 0..<2 { group.addTask { try await store.signIn(Records.delayedSignIn())?.isNew } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await until { store.writes.waitingCount == 2 }
        #expect(store.writes.batchCount == before)
        _ = try await store.takeOneTimeRecord(Records.hash(), purpose: "test", at: Records.now)
        #expect(try await signedIn == [true, true])
        #expect(store.writes.batchCount == before + 1)
        try await store.close()
    }

    @Test("A write that cannot be stored fails alone; the others of its batch are stored once")
    func oneBadWrite() async throws {
        let store = try open()
        let taken = try Records.session()
        _ = try await store.signIn(Records.signIn(session: taken))
        var records = try (0..<20).map { _ in try Records.signIn() }
        records[7] = try Records.signIn(session: taken)
        let results = try await together(records.map { record in { try await store.signIn(record) } }, in: store)
        for (index, result) in results.enumerated() {
            switch result {
            case .success: #expect(index != 7)
            case .failure(let error): #expect(index == 7 && isError(error, .conflict))
            }
        }
        #expect(try count("sessions") == 20)
        #expect(try count("users") == 20)
        try await store.close()
    }

    @Test("A failed commit fails its callers, and stores nothing")
    func failingCommit() async throws {
        let store = try open()
        let before = try count("users")
        await #expect(throws: StorageError.self) {
            // Its statements all succeed: the constraint is checked by the commit.
            try await store.onSQLite { db in
                try db.execute("PRAGMA defer_foreign_keys = ON")
                try db.execute("INSERT INTO users (public_id, created_at) VALUES ('x', 0)")
                try db.execute("INSERT INTO identities VALUES ('i', 's', 999, 0)")
            }
        }
        #expect(try count("users") == before)
        #expect(try await store.signIn(Records.signIn())?.isNew == true)
        try await store.close()
    }

    @Test("When a call returns, another connection sees what it wrote")
    func visibleAtReturn() async throws {
        let store = try open()
        for expected in 1...20 {
            _ = try await store.signIn(Records.signIn())
            #expect(try count("sessions") == expected)
        }
        try await store.close()
    }

    @Test("A call beyond the waiting limit is refused as overloaded, and the rest complete")
    func overloaded() async throws {
        let store = try open(maximumWaiting: 3)
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        await gate.whenReached()
        async let waiting = withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { _ = try await store.signIn(Records.signIn()) } }
            try await group.waitForAll()
        }
        while store.writes.waitingCount < 3 { await Task.yield() }
        let answered = Flag()
        async let beyond = Result<SignedInUser?, any Error>.of {
            defer { answered.raise() }
            return try await store.signIn(Records.signIn())
        }
        while store.writes.waitingCount == 3 && !answered.isRaised { await Task.yield() }
        gate.open()
        try await held
        try await waiting
        let refusal = await beyond
        #expect { try refusal.get() } throws: {
            isError($0, .overloaded)
        }
        #expect(try count("sessions") == 3)
        try await store.close()
    }

    @Test("Files copied when a write returns contain it: a killed process loses nothing")
    func crashCopy() async throws {
        let store = try open()
        var sessions: [NewSession] = []
        for round in 1...3 {
            for _ in 0..<10 {
                let session = try Records.session()
                _ = try await store.signIn(Records.signIn(session: session))
                sessions.append(session)
            }
            let copy = directory.file("copy-\(round).db")
            try directory.copy("store.db", to: "copy-\(round).db")
            try directory.copy("store.db-wal", to: "copy-\(round).db-wal")
            let survivor = try SQLStore(configuration: SQLiteConfiguration(path: copy))
            for session in sessions {
                #expect(try await survivor.session(session.tokenHash, at: Records.now) != nil)
            }
            try await survivor.close()
        }
        try await store.close()
    }
}

extension Result where Failure == any Error {
    static func of(_ call: @Sendable () async throws -> Success) async -> Self {
        do { return .success(try await call()) } catch { return .failure(error) }
    }
}
