import Dispatch
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// Works that allow a delay, with a clock that a test advances.
@Suite("A queue of works whose commit may be delayed")
struct WorkQueueDelayTests {
    private final class Work: DatabaseWork {
        let locks: [WriteLock] = []
        let shared: (any SharedStatement)? = nil
        private let outcome = Mutex<Bool?>(nil)
        private let gate: DispatchSemaphore?

        /// - Parameter isHeld: Whether its batch runs until ``release()``.
        init(isHeld: Bool = false) { gate = isHeld ? DispatchSemaphore(value: 0) : nil }

        func release() { gate?.signal() }

        /// Whether it succeeded; nil while it waits.
        var hasSucceeded: Bool? { outcome.withLock { $0 } }

        func run(on db: SQLSession) {}
        func succeed() {
            gate?.wait()
            outcome.withLock { $0 = true }
        }

        func fail(_ error: StorageError) { outcome.withLock { $0 = false } }
    }

    /// The batches of a queue.
    private final class Batches: Sendable {
        private let state = Mutex<[Int]>([])
        private let ran = DispatchSemaphore(value: 0)

        var sizes: [Int] { state.withLock { $0 } }

        func run(_ batch: [any DatabaseWork]) {
            state.withLock { $0.append(batch.count) }
            for work in batch { work.succeed() }
            ran.signal()
        }

        /// Blocks until one more batch has run, at most a minute.
        func waitForOne() { _ = ran.wait(timeout: .now() + 60) }
    }

    private let batches = Batches()
    private let timer = ManualCommitTimer()
    private let delay: UInt64 = 100

    /// A queue that has had two works so shortly after each other that it expects more of them. The first one did not
    /// wait, because nothing was known of others.
    private func makeQueue(maximumBatch: Int = 256, workers: Int = 1) -> WorkQueue {
        let queue = WorkQueue(
            .write, maximumBatch: maximumBatch, maximumWaiting: 64, maximumWait: .seconds(60), StoreHooks(),
            delayingBy: timer)
        for _ in 0..<workers { queue.addWorker("delayed", batches.run) }
        timer.during { [timer, delay] in timer.advance(by: delay) }
        for _ in 0..<2 {
            queue.admit(Work(), allowing: delay)
            batches.waitForOne()
        }
        #expect(batches.sizes == [1, 1])
        #expect(timer.waits == [delay])
        return queue
    }

    @Test("The works that arrive during the delay share the batch of the first")
    func shared() {
        let queue = makeQueue()
        let works = (0..<4).map { _ in Work() }
        timer.during { [timer, delay] in
            for work in works[1...] { queue.admit(work, allowing: delay) }
            timer.advance(by: delay)
        }
        queue.admit(works[0], allowing: delay)
        batches.waitForOne()
        #expect(batches.sizes == [1, 1, 4])
        #expect(timer.waits == [delay, delay])
        #expect(timer.ends == 0)
        for work in works { #expect(work.hasSucceeded == true) }
        queue.end()
    }

    @Test("A wait that ends early goes on until the delay has passed")
    func earlyEnd() {
        let queue = makeQueue()
        timer.during({ [timer] in timer.advance(by: 30) }, {}, { [timer] in timer.advance(by: 70) })
        queue.admit(Work(), allowing: delay)
        batches.waitForOne()
        #expect(timer.waits.dropFirst() == [delay, 70, 70])
        #expect(batches.sizes == [1, 1, 1])
        queue.end()
    }

    @Test(
        "A work that allows no delay ends the wait, and so does the work that makes enough", arguments: [false, true],
        [1, 2])
    func endedWait(hasEnough: Bool, workers: Int) async throws {
        let queue = makeQueue(workers: workers)
        try await until { queue.sleepingCount == workers }
        let count = hasEnough ? CommitDelay.usualEnough : 2
        timer.during { [timer, delay] in
            for number in 1..<count {
                #expect(timer.ends == 0)
                queue.admit(Work(), allowing: hasEnough || number < count - 1 ? delay : 0)
            }
            #expect(timer.ends == 1)
        }
        queue.admit(Work(), allowing: delay)
        batches.waitForOne()
        #expect(batches.sizes == [1, 1, count])
        queue.end()
    }

    @Test("What one worker delays is left to it by one that becomes free meanwhile")
    func delayedByOne() async throws {
        let queue = makeQueue(workers: 2)
        try await until { queue.sleepingCount == 2 }
        let held = Work(isHeld: true)
        queue.admit(held, allowing: 0)
        try await until { batches.sizes == [1, 1, 1] }
        let isFree = DispatchSemaphore(value: 0)
        timer.during { [timer, delay] in
            held.release()
            _ = isFree.wait(timeout: .now() + 60)
            timer.advance(by: delay)
        }
        queue.admit(Work(), allowing: delay)
        try await until { queue.sleepingCount == 1 && held.hasSucceeded == true }
        #expect(batches.sizes == [1, 1, 1])
        #expect(timer.waits == [delay, delay])
        isFree.signal()
        try await until { queue.sleepingCount == 2 }
        #expect(batches.sizes == [1, 1, 1, 1])
        queue.end()
    }

    @Test("Of more works than a batch that were left to one worker, another one takes the rest")
    func moreThanABatch() async throws {
        let queue = makeQueue(maximumBatch: 3, workers: 2)
        try await until { queue.sleepingCount == 2 }
        let held = Work(isHeld: true)
        timer.during { [delay] in
            for _ in 0..<3 { queue.admit(Work(), allowing: delay) }
        }
        queue.admit(held, allowing: delay)
        // The worker of the rest may begin first.
        try await until { batches.sizes.sorted() == [1, 1, 1, 3] }
        #expect(held.hasSucceeded == nil)
        held.release()
        try await until { queue.sleepingCount == 2 }
        queue.end()
    }

    @Test("A work that allows no delay is run at once")
    func undelayed() {
        let queue = makeQueue()
        queue.admit(Work(), allowing: 0)
        batches.waitForOne()
        #expect(timer.waits == [delay])
        #expect(batches.sizes == [1, 1, 1])
        queue.end()
    }

    @Test("A full batch ends the wait, and the works beyond it wait for their own time")
    func largestBatch() {
        let queue = makeQueue(maximumBatch: 3)
        timer.during(
            { [timer, delay] in
                queue.admit(Work(), allowing: delay)
                #expect(timer.ends == 0)
                for _ in 2..<4 { queue.admit(Work(), allowing: delay) }
                #expect(timer.ends == 1)
            }, { [timer, delay] in timer.advance(by: delay) })
        queue.admit(Work(), allowing: delay)
        for _ in 0..<2 { batches.waitForOne() }
        #expect(batches.sizes == [1, 1, 3, 1])
        queue.end()
    }

    @Test("The system's timer waits for its time, and not if it was ended before")
    func systemTimer() {
        let timer = SystemCommitTimer()
        let start = timer.nanoseconds
        timer.wait(nanoseconds: 30_000_000)
        #expect(timer.nanoseconds - start >= 30_000_000)
        timer.end()
        timer.wait(nanoseconds: 60_000_000_000)
        #expect(timer.nanoseconds - start < 50_000_000_000)
        // The end was for one wait.
        let later = timer.nanoseconds
        timer.wait(nanoseconds: 1_000_000)
        #expect(timer.nanoseconds - later >= 1_000_000)
        DispatchQueue(label: "end").asyncAfter(deadline: .now() + .milliseconds(20)) { timer.end() }
        timer.wait(nanoseconds: .max)
    }

    @Test("A queue that is drained ends the wait, and refuses what comes later")
    func drained() async throws {
        let queue = makeQueue()
        let work = Work()
        timer.during { [timer] in timer.waitForEnd() }
        queue.admit(work, allowing: delay)
        try await until { timer.waits.count == 2 }
        await queue.drain()
        #expect(timer.ends == 1)
        #expect(work.hasSucceeded == true)
        let late = Work()
        queue.admit(late, allowing: delay)
        #expect(late.hasSucceeded == false)
    }

    private struct Reference: Sendable {
        weak let queue: WorkQueue?
    }

    @Test("The workers of a store that is not closed end when it is no longer used")
    func unclosed() async throws {
        let directory = try TemporaryDirectory()
        func use() async throws -> [Reference] {
            let store = try SQLStore(configuration: SQLiteConfiguration(path: directory.file("store.db")))
            try await store.check()
            return [Reference(queue: store.writes), Reference(queue: store.reads)]
        }
        let references = try await use()
        // Each worker holds its queue until it ends.
        try await until { references.allSatisfy { $0.queue == nil } }
    }
}
