import Dispatch
import StorageModel
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// Works that allow a delay, on connections that a test runs on its own thread, with a clock that it advances.
@Suite("A queue of works whose commit may be delayed")
struct WorkQueueDelayTests {
    private final class Work: DatabaseWork {
        private let outcome = Mutex<Bool?>(nil)

        /// Whether it succeeded; nil while it waits.
        var hasSucceeded: Bool? { outcome.withLock { $0 } }

        func run(on db: SQLSession) {}
        func succeed() { outcome.withLock { $0 = true } }
        func fail(_ error: StorageError) { outcome.withLock { $0 = false } }
    }

    /// Keeps its call until the test runs it.
    private final class Executor: ConnectionExecutor {
        private struct State {
            var calls: [@Sendable (([any DatabaseWork]) -> Void) -> Void] = []
            var batches: [Int] = []
        }

        private let state = Mutex(State())

        /// The sizes of the batches it has run.
        var batches: [Int] { state.withLock { $0.batches } }

        func enqueue(_ body: @escaping @Sendable (_ run: ([any DatabaseWork]) -> Void) -> Void) {
            state.withLock { $0.calls.append(body) }
        }

        /// Runs its call, until nothing waits.
        func run() {
            let call = state.withLock { $0.calls.removeFirst() }
            call { batch in
                state.withLock { $0.batches.append(batch.count) }
                for work in batch { work.succeed() }
            }
        }
    }

    /// A clock that stands still, but for what the test does during a wait.
    private final class Timer: CommitTimer {
        private struct State {
            var time: UInt64 = 1_000
            var waits: [UInt64] = []
            var ends = 0
            var events: [@Sendable () -> Void] = []
        }

        private let state = Mutex(State())
        private let ended = DispatchSemaphore(value: 0)

        var nanoseconds: UInt64 { state.withLock { $0.time } }
        var waits: [UInt64] { state.withLock { $0.waits } }
        /// How many waits were ended before their time.
        var ends: Int { state.withLock { $0.ends } }

        func wait(nanoseconds: UInt64) {
            let event = state.withLock { state -> (@Sendable () -> Void)? in
                state.waits.append(nanoseconds)
                return state.events.isEmpty ? nil : state.events.removeFirst()
            }
            guard let event else {
                Issue.record("an unexpected wait")
                return advance(by: nanoseconds)
            }
            event()
        }

        func end() {
            state.withLock { $0.ends += 1 }
            ended.signal()
        }

        /// What happens during the next waits.
        func during(_ events: @Sendable () -> Void...) { state.withLock { $0.events = events } }

        func advance(by nanoseconds: UInt64) { state.withLock { $0.time += nanoseconds } }

        /// Blocks until ``end()`` was called, at most a minute.
        func waitForEnd() { _ = ended.wait(timeout: .now() + 60) }
    }

    private let executor = Executor()
    private let timer = Timer()
    private let delay: UInt64 = 100

    /// A queue that has had two works so shortly after each other that it expects more of them. The first one did not
    /// wait, because nothing was known of others.
    private func makeQueue(maximumBatch: Int = 256) -> WorkQueue {
        let queue = WorkQueue(
            .write, executors: [executor], maximumBatch: maximumBatch, maximumWaiting: 64, maximumWait: .seconds(60),
            StoreHooks(), delayingBy: timer)
        for _ in 0..<2 {
            queue.admit(Work(), allowing: delay)
            timer.during { [timer, delay] in timer.advance(by: delay) }
            executor.run()
        }
        #expect(executor.batches == [1, 1])
        #expect(timer.waits == [delay])
        return queue
    }

    @Test("The works that arrive during the delay share the batch of the first")
    func shared() {
        let queue = makeQueue()
        let works = (0..<4).map { _ in Work() }
        queue.admit(works[0], allowing: delay)
        timer.during { [timer, delay] in
            for work in works[1...] { queue.admit(work, allowing: delay) }
            timer.advance(by: delay)
        }
        executor.run()
        #expect(executor.batches == [1, 1, 4])
        #expect(timer.waits == [delay, delay])
        #expect(timer.ends == 0)
        for work in works { #expect(work.hasSucceeded == true) }
    }

    @Test("A wait that ends early goes on until the delay has passed")
    func earlyEnd() {
        let queue = makeQueue()
        queue.admit(Work(), allowing: delay)
        timer.during({ [timer] in timer.advance(by: 30) }, {}, { [timer] in timer.advance(by: 70) })
        executor.run()
        #expect(timer.waits.dropFirst() == [delay, 70, 70])
        #expect(executor.batches == [1, 1, 1])
    }

    @Test(
        "A work that allows no delay ends the wait, and so does the work that makes enough", arguments: [false, true])
    func endedWait(hasEnough: Bool) {
        let queue = makeQueue()
        let count = hasEnough ? CommitDelay.usualEnough : 2
        queue.admit(Work(), allowing: delay)
        timer.during { [timer, delay] in
            for number in 1..<count {
                #expect(timer.ends == 0)
                queue.admit(Work(), allowing: hasEnough || number < count - 1 ? delay : 0)
            }
            #expect(timer.ends == 1)
        }
        executor.run()
        #expect(executor.batches == [1, 1, count])
    }

    @Test("A work that allows no delay is run at once")
    func undelayed() {
        let queue = makeQueue()
        queue.admit(Work(), allowing: 0)
        executor.run()
        #expect(timer.waits == [delay])
        #expect(executor.batches == [1, 1, 1])
    }

    @Test("A full batch ends the wait, and the works beyond it wait for their own time")
    func largestBatch() {
        let queue = makeQueue(maximumBatch: 3)
        queue.admit(Work(), allowing: delay)
        timer.during(
            { [timer, delay] in
                queue.admit(Work(), allowing: delay)
                #expect(timer.ends == 0)
                for _ in 2..<4 { queue.admit(Work(), allowing: delay) }
                #expect(timer.ends == 1)
            }, { [timer, delay] in timer.advance(by: delay) })
        executor.run()
        #expect(executor.batches == [1, 1, 3, 1])
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
        queue.admit(work, allowing: delay)
        timer.during { [timer] in timer.waitForEnd() }
        DispatchQueue(label: "connection").async { [executor] in executor.run() }
        try await until { timer.waits.count == 2 }
        await queue.drain()
        #expect(timer.ends == 1)
        #expect(work.hasSucceeded == true)
        let late = Work()
        queue.admit(late, allowing: delay)
        #expect(late.hasSucceeded == false)
    }
}
