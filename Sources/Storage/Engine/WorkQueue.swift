import Dispatch
import Primitives
package import StorageModel
import Synchronization

/// Gives callers' work to one or a few connections, in batches, on the connections' own queues: nothing blocks the
/// cooperative threads.
///
/// An idle connection is woken for the first work and runs it at once. Work that arrives while all are busy waits and
/// forms the next batch: one wake-up and one lock for many callers.
///
/// A call waits for a connection for a bounded time, whatever the connections do. Then it is refused, and its work is
/// never run. The time is measured in ticks, so that a call takes no timer and no look at the clock.
package final class WorkQueue: Sendable {
    private struct State {
        var waiting: [any DatabaseWork] = []
        var idle: [any ConnectionExecutor]
        var isClosed = false
        var awaitingRest: [CheckedContinuation<Void, Never>] = []
        var batches = 0
        /// How many of the first waiting calls have waited for one tick, for two, and so on.
        var waitedTicks = Array(repeating: 0, count: WorkQueue.ticks)
        var isTicking = false
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
    private let state: Mutex<State>

    init(
        _ kind: StoreCall.Kind, executors: [any ConnectionExecutor], maximumBatch: Int, maximumWaiting: Int,
        maximumWait: Duration, _ hooks: StoreHooks
    ) {
        self.kind = kind
        self.hooks = hooks
        executorCount = executors.count
        self.maximumBatch = max(1, maximumBatch)
        self.maximumWaiting = max(1, maximumWaiting)
        tick = max(maximumWait, .milliseconds(1)) / (Self.ticks + 1)
        state = Mutex(State(idle: executors))
    }

    /// How many callers wait for a connection.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// How many batches have begun.
    package var batchCount: Int { state.withLock { $0.batches } }

    /// Runs `body` on a connection and returns its result. Cancelling the calling task does not stop it.
    package func submit<Success: Sendable>(
        as operation: StaticString = #function, _ body: @escaping @Sendable (SQLSession) throws -> Success
    ) async throws(StorageError) -> Success {
        try await hooks.interceptor?(operation, kind, .before)
        let stopwatch = Stopwatch()
        let result = await withCheckedContinuation { caller in admit(AwaitedWork(for: caller, body)) }
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
            let hasToWait = state.withLock { state in
                state.isClosed = true
                guard !isAtRest(state) else { return false }
                state.awaitingRest.append(continuation)
                return true
            }
            if !hasToWait { continuation.resume() }
        }
    }

    private func admit(_ work: any DatabaseWork) {
        var mustTick = false
        let woken = state.withLock { state -> Result<(any ConnectionExecutor)?, StorageError> in
            if state.isClosed { return .failure(StorageError(.closed, reason: "the store has been closed")) }
            guard state.waiting.count < maximumWaiting else {
                return .failure(StorageError(.overloaded, reason: "\(maximumWaiting) calls are waiting already"))
            }
            state.waiting.append(work)
            let executor = state.idle.popLast()
            if executor == nil, !state.isTicking {
                state.isTicking = true
                mustTick = true
            }
            return .success(executor)
        }
        if mustTick { scheduleTick() }
        switch woken {
        case .success(nil): break
        case .success(let executor?): executor.enqueue { run in self.serve(executor, run) }
        case .failure(let error): work.fail(error)
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
        while let batch = nextBatch(for: executor) { run(batch) }
    }

    /// The waiting work, up to a batch; nil if there is none: then the connection becomes idle.
    private func nextBatch(for executor: any ConnectionExecutor) -> [any DatabaseWork]? {
        let (batch, resting) = state.withLock { state -> ([any DatabaseWork]?, [CheckedContinuation<Void, Never>]) in
            guard state.waiting.isEmpty else {
                state.batches += 1
                return (takeBatch(from: &state), [])
            }
            state.idle.append(executor)
            guard isAtRest(state) else { return (nil, []) }
            defer { state.awaitingRest = [] }
            return (nil, state.awaitingRest)
        }
        for continuation in resting { continuation.resume() }
        return batch
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
