import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL

/// How long a call waits for a connection that does not become free.
@Suite("Any store: calls that wait for a connection")
struct WaitConformanceTests {
    private func open(_ isPostgres: Bool, _ directory: TemporaryDirectory) throws -> SQLStore {
        guard isPostgres else {
            return try SQLStore(
                configuration: SQLiteConfiguration(
                    path: directory.file("store.db"), maximumBatch: 4, maximumWait: .seconds(1)))
        }
        let configuration = PostgresConfiguration(
            url: Secret(try PostgresCluster.shared().makeSchema()), poolSize: 2, maximumBatch: 4,
            maximumWait: .seconds(1))
        return try configuration.open(observer: nil)
    }

    /// Waits until the connection takes work again: on a loaded machine a call may be refused before.
    private func untilFree(_ store: SQLStore) async throws {
        try await until { (try? await store.writes.submit { _ in }) != nil }
    }

    @Test("They are refused after a bounded time, and never run", arguments: [false, true])
    func bounded(isPostgres: Bool) async throws {
        let directory = try TemporaryDirectory()
        let store = try open(isPostgres, directory)
        let gate = Gate()
        async let held: Void = store.writes.submit { _ in gate.wait() }
        defer { gate.open() }
        await gate.whenReached()
        let ran = Flag()
        let refused = await withTaskGroup(of: Result<Void, any Error>.self) { group in
            for _ in 0..<20 {
                group.addTask { await Result.of { try await store.writes.submit { _ in ran.raise() } } }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        // The connection is still held: each call ended by itself.
        for result in refused {
            guard case .failure(let error) = result else {
                Issue.record("a call was not refused")
                continue
            }
            #expect((error as? StorageError)?.code == .overloaded)
        }
        #expect(store.writes.waitingCount == 0)
        // Reads have other connections.
        _ = try await store.session(Records.hash(), at: Records.now)
        gate.open()
        try await held
        try await untilFree(store)
        #expect(!ran.isRaised)
        try await store.close()
    }

    @Test("One that waited and one that arrives later are refused each in its time", arguments: [false, true])
    func inOrder(isPostgres: Bool) async throws {
        let directory = try TemporaryDirectory()
        let store = try open(isPostgres, directory)
        for _ in 0..<2 {
            let gate = Gate()
            async let held: Void = store.writes.submit { _ in gate.wait() }
            defer { gate.open() }
            await gate.whenReached()
            for _ in 0..<2 {
                await #expect(throws: StorageError.self) { try await store.writes.submit { _ in } }
            }
            gate.open()
            try await held
            try await untilFree(store)
        }
        try await store.close()
    }
}
