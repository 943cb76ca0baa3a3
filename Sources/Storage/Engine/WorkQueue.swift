import Dispatch
import Primitives
package import StorageModel
import Synchronization

/// Gives callers' work to one or a few connections, in batches, on the connections' own queues: nothing blocks the
/// cooperative threads.
///
/// An idle connection is woken for the first work and runs it at once, unless the work allows a delay
/// (``CommitDelay``). Work that arrives while all are busy waits and forms the next batch: one wake-up and one lock for
/// many callers.
///
/// A call waits for a connection for a bounded time, whatever the connections do. Then it is refused, and its work is
/// never run. The time is measured in ticks, so that a call takes no timer and, if it allows no delay, no look at the
/// clock.
package final class WorkQueue: Sendable {
    private struct State {
        var waiting: [any DatabaseWork] = []
        var idle: [any ConnectionExecutor]
        /// Whether the connection waits for more work before it runs what waits.
        var isDelaying = false
        var delay: CommitDelay
        var isClosed = false
        var awaitingRest: [CheckedContinuation<Void, Never>] = []
        var batches = 0
        /// How many of the first waiting calls have waited for one tick, for two, and so on.
        var waitedTicks = Array(repeating: 0, count: WorkQueue.ticks)
        var isTicking = false
    }

    private enum Admission {
        case waits
        case wakes(any ConnectionExecutor)
        case endsDelay
        case refused(StorageError)
    }

    private enum Next {
        case batch([any DatabaseWork])
        case delay(nanoseconds: UInt64)
        /// The connection is idle; these wait until all are.
        case rest([CheckedContinuation<Void, Never>])
    }

    /// A call is refused at the tick after so many, which is after more than 4/5 of the maximum and not after more
    /// than all of it.
    private static let ticks = 4
    private static let clock = DispatchQueue(label: "latchkey.store.deadlines")

    private let kind: StoreCall.Kind
    private let hooks: StoreHooks
    private let executorCount: Int
    private let maximumBatch: Int
    private let maximumWaiting: Int
    private let tick: Duration
    private let timer: (any CommitTimer)?
    private let state: Mutex<State>

    /// - Parameter timer: Delays works that allow it, in a queue with one connection; nil if none is ever delayed.
    init(
        _ kind: StoreCall.Kind, executors: [any ConnectionExecutor], maximumBatch: Int, maximumWaiting: Int,
        maximumWait: Duration, _ hooks: StoreHooks, delayingBy timer: (any CommitTimer)? = nil
    ) {
        self.kind = kind
        self.hooks = hooks
        precondition(timer == nil || executors.count == 1, "works are delayed by one connection only")
        self.timer = timer
        executorCount = executors.count
        self.maximumBatch = max(1, maximumBatch)
        self.maximumWaiting = max(1, maximumWaiting)
        tick = max(maximumWait, .milliseconds(1)) / (Self.ticks + 1)
        let delay = CommitDelay(enough: min(CommitDelay.usualEnough, self.maximumBatch, self.maximumWaiting))
        state = Mutex(State(idle: executors, delay: delay))
    }

    /// How many callers wait for a connection, or for others that share their commit.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// How many batches have begun.
    package var batchCount: Int { state.withLock { $0.batches } }

    /// Runs `body` on a connection and returns its result. Cancelling the calling task does not stop it.
    /// - Parameter delay: For how long it may be delayed for others that share its commit, in nanoseconds.
    package func submit<Success: Sendable>(
        as operation: StaticString = #function, allowing delay: UInt64 = 0,
        _ body: @escaping @Sendable (SQLSession) throws -> Success
    ) async throws(StorageError) -> Success {
        try await hooks.interceptor?(operation, kind, .before)
        let stopwatch = Stopwatch()
        let result = await withCheckedContinuation { caller in
            admit(AwaitedWork(for: caller, body), allowing: delay)
        }
        if let observer = hooks.observer {
            observer(StoreCall(kind: kind, nanoseconds: stopwatch.nanoseconds, failure: result.failure?.code))
        }
        let value = try result.get()
        try await hooks.interceptor?(operation, kind, .after)
        return value
    }

    /// Refuses further work, and returns when all admitted work is done and every connection is idle.
    func drain() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let (hasToWait, wasDelaying) = state.withLock { state in
                state.isClosed = true
                guard !isAtRest(state) else { return (false, false) }
                state.awaitingRest.append(continuation)
                state.delay.cancel()
                return (true, state.isDelaying)
            }
            if wasDelaying { timer?.end() }
            if !hasToWait { continuation.resume() }
        }
    }

    /// Has the work run soon, or fails it at once.
    /// - Parameter delay: For how long its commit may be delayed, in nanoseconds.
    func admit(_ work: any DatabaseWork, allowing delay: UInt64) {
        let now = delay > 0 ? timer?.nanoseconds : nil
        var mustTick = false
        let admission = state.withLock { state -> Admission in
            if state.isClosed { return .refused(StorageError(.closed, reason: "the store has been closed")) }
            guard state.waiting.count < maximumWaiting else {
                return .refused(StorageError(.overloaded, reason: "\(maximumWaiting) calls are waiting already"))
            }
            state.delay.admit(allowing: now == nil ? 0 : delay, at: now ?? 0, isFirst: state.waiting.isEmpty)
            state.waiting.append(work)
            if let executor = state.idle.popLast() { return .wakes(executor) }
            mustTick = !state.isTicking
            state.isTicking = true
            guard state.isDelaying, state.delay.isOver(waiting: state.waiting.count) else { return .waits }
            state.isDelaying = false
            return .endsDelay
        }
        if mustTick { scheduleTick() }
        switch admission {
        case .waits: break
        case .wakes(let executor): executor.enqueue { run in self.serve(executor, run) }
        case .endsDelay: timer?.end()
        case .refused(let error): work.fail(error)
        }
    }

    private func scheduleTick() {
        Self.clock.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: max(1, tick.milliseconds)))) {
            [weak self] in
            self?.refuseOverdue()
        }
    }

    /// Refuses the calls that have waited for too long.
    private func refuseOverdue() {
        let overdue = state.withLock { state -> [any DatabaseWork] in
            let count = state.waitedTicks[Self.ticks - 1]
            let overdue = Array(state.waiting.prefix(count))
            remove(count, from: &state)
            state.waitedTicks.removeLast()
            state.waitedTicks.insert(state.waiting.count, at: 0)
            state.isTicking = !state.waiting.isEmpty
            if state.isTicking { scheduleTick() }
            return overdue
        }
        guard !overdue.isEmpty else { return }
        let error = StorageError(.overloaded, reason: "no connection to the database became free in time")
        for work in overdue { work.fail(error) }
    }

    /// Runs batch after batch until nothing waits.
    private func serve(_ executor: any ConnectionExecutor, _ run: ([any DatabaseWork]) -> Void) {
        while true {
            switch next(for: executor) {
            case .batch(let batch): run(batch)
            case .delay(let nanoseconds): timer?.wait(nanoseconds: nanoseconds)
            case .rest(let awaiting):
                for continuation in awaiting { continuation.resume() }
                return
            }
        }
    }

    /// What a connection does next. If nothing waits, it becomes idle.
    private func next(for executor: any ConnectionExecutor) -> Next {
        state.withLock { state in
            state.isDelaying = false
            guard !state.waiting.isEmpty else {
                state.idle.append(executor)
                guard isAtRest(state) else { return .rest([]) }
                defer { state.awaitingRest = [] }
                return .rest(state.awaitingRest)
            }
            if let timer {
                let remaining = state.delay.remaining(waiting: state.waiting.count) { timer.nanoseconds }
                if remaining > 0 {
                    state.isDelaying = true
                    return .delay(nanoseconds: remaining)
                }
            }
            state.batches += 1
            return .batch(takeBatch(from: &state))
        }
    }

    private func takeBatch(from state: inout State) -> [any DatabaseWork] {
        guard state.waiting.count > maximumBatch else {
            let batch = state.waiting
            remove(batch.count, from: &state)
            return batch
        }
        let batch = Array(state.waiting.prefix(maximumBatch))
        remove(maximumBatch, from: &state)
        return batch
    }

    /// Removes the first waiting calls.
    private func remove(_ count: Int, from state: inout State) {
        if count == state.waiting.count { state.waiting = [] } else { state.waiting.removeFirst(count) }
        guard state.isTicking else { return }
        for index in state.waitedTicks.indices { state.waitedTicks[index] = max(0, state.waitedTicks[index] - count) }
    }

    private func isAtRest(_ state: borrowing State) -> Bool {
        state.waiting.isEmpty && state.idle.count == executorCount
    }
}

extension Result {
    fileprivate var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
