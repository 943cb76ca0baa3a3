import Dispatch
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Storage

@Suite("A queue of works that can share a statement")
struct WorkQueueSharingTests {
    private final class Part: SharedStatement {}

    private final class Work: DatabaseWork {
        let locks: [WriteLock] = []
        let shared: (any SharedStatement)?

        init(isShared: Bool) { shared = isShared ? Part() : nil }

        func run(on db: SQLSession) {}
        func succeed() {}
        func fail(_ error: StorageError) {}
    }

    /// The batches that have begun. The first one is held.
    private final class Batches: Sendable {
        private let state = Mutex<[Int]>([])
        private let gate = DispatchSemaphore(value: 0)

        var sizes: [Int] { state.withLock { $0 } }

        func run(_ batch: [any DatabaseWork]) {
            let isFirst = state.withLock { sizes in
                sizes.append(batch.count)
                return sizes.count == 1
            }
            if isFirst { gate.wait() }
        }

        func release() { gate.signal() }
    }

    private let batches = Batches()
    private let timer = ManualCommitTimer()

    /// A queue with two workers, of which one runs a batch of one work, and the other sleeps.
    private func held(
        byShared isShared: Bool = true, maximumUnshared: Int = .max, maximumWait: Duration = .seconds(600),
        workers: Int = 2
    ) async throws -> WorkQueue {
        let queue = WorkQueue(
            .write, maximumBatch: 4, maximumUnshared: maximumUnshared, maximumWaiting: 64, maximumWait: maximumWait,
            StoreHooks(), delayingBy: timer)
        for number in 0..<workers { queue.addWorker("worker \(number)", batches.run) }
        try await until { queue.sleepingCount == workers }
        queue.admit(Work(isShared: isShared), allowing: 0)
        try await until { batches.sizes == [1] }
        return queue
    }

    enum Event: CaseIterable {
        /// A work that can share no statement arrives.
        case other
        /// A full batch waits.
        case many
        /// The batch takes longer than usual, and a further work arrives.
        case late
    }

    @Test("They wait for the worker that runs such works, until another one is needed", arguments: Event.allCases)
    func shared(until event: Event) async throws {
        let queue = try await held()
        for _ in 0..<2 { queue.admit(Work(isShared: true), allowing: 0) }
        #expect(queue.sleepingCount == 1)
        #expect(queue.waitingCount == 2)
        switch event {
        case .other: queue.admit(Work(isShared: false), allowing: 0)
        case .many: for _ in 0..<2 { queue.admit(Work(isShared: true), allowing: 0) }
        case .late:
            timer.advance(by: WorkQueue.usualTime)
            queue.admit(Work(isShared: true), allowing: 0)
        }
        try await until { batches.sizes == [1, event == .many ? 4 : 3] }
        // Works that arrive later wait for the same worker only while it runs.
        try await until { queue.sleepingCount == 1 }
        timer.advance(by: WorkQueue.usualTime)
        queue.admit(Work(isShared: true), allowing: 0)
        try await until { batches.sizes.count == 3 }
        batches.release()
        await queue.drain()
    }

    @Test("They do not wait for a worker that runs another work")
    func unshared() async throws {
        let queue = try await held(byShared: false)
        queue.admit(Work(isShared: true), allowing: 0)
        try await until { batches.sizes == [1, 1] }
        batches.release()
        await queue.drain()
    }

    @Test(
        "A batch has few works that can share no statement",
        arguments: [(0, [4, 3]), (1, [4, 3]), (2, [2, 4, 1]), (3, [2, 2, 3])])
    func fewUnshared(unshared: Int, sizes: [Int]) async throws {
        // Every second one, from the first on.
        let queue = try await held(maximumUnshared: 1, workers: 1)
        for place in 0..<7 { queue.admit(Work(isShared: place % 2 == 1 || place / 2 >= unshared), allowing: 0) }
        batches.release()
        try await until { queue.sleepingCount == 1 }
        #expect(batches.sizes == [1] + sizes)
        await queue.drain()
    }

    @Test("One that waits for a worker that is held up is run by another one")
    func heldUp() async throws {
        let queue = try await held(maximumWait: .seconds(5))
        queue.admit(Work(isShared: true), allowing: 0)
        try await until { batches.sizes == [1, 1] }
        batches.release()
        await queue.drain()
    }

    @Test("They wake a worker while none runs")
    func idle() async throws {
        let queue = try await held()
        batches.release()
        try await until { queue.sleepingCount == 2 }
        queue.admit(Work(isShared: true), allowing: 0)
        try await until { batches.sizes == [1, 1] }
        await queue.drain()
    }
}
