import Dispatch
import EventLoops
import Primitives
public import StorageModel
import Synchronization

/// Callers' work, which one or a few connections take in batches, each on a worker of its own: nothing blocks the
/// cooperative threads.
///
/// A worker that sleeps is woken for the first work and runs it at once, unless the work allows a delay
/// (``CommitDelay``). Work that arrives while all are busy waits and forms the next batch: one wake-up and one lock for
/// many callers. A worker sleeps between two batches instead of returning, which would cost each batch the waking and
/// retiring of a thread.
///
/// One worker at a time delays what waits. The others leave it to that one.
///
/// Works that can share a statement wait for the worker that runs such works, unless a full batch of them waits or it
/// takes long: a few large batches cost less than many small ones.
///
/// A call waits for a connection for a bounded time, whatever the connections do. Then it is refused, and its work is
/// never run. The time is measured in ticks, so that a call takes no timer and, if it allows no delay and shares no
/// statement, no look at the clock.
public final class WorkQueue: Sendable {
    private struct Waiting {
        let work: any DatabaseWork
        /// How many ticks there had been when it began to wait.
        let tick: Int
    }

    private struct State {
        var waiting: [Waiting] = []
        /// How many workers have not ended.
        var workers = 0
        /// What wakes the workers that sleep. The last one is woken first, so that a small load uses few connections.
        var sleeping: [DispatchSemaphore] = []
        /// How many workers were just woken, or run only works that can share a statement.
        var sharing = 0
        /// When the last one of them began.
        var lastSharing: UInt64 = 0
        /// Wakes the worker that waits for more work before it runs what waits; nil if none does.
        var delaying: DispatchSemaphore?
        var delay: CommitDelay
        var isClosed = false
        var awaitingEnd: [CheckedContinuation<Void, Never>] = []
        var batches = 0
        var tick = 0
        var isTicking = false

        /// What wakes a worker that sleeps; nil if none does.
        mutating func wake() -> DispatchSemaphore? {
            guard let wake = sleeping.popLast() else { return nil }
            sharing += 1
            return wake
        }
    }

    private enum Admission {
        case waits
        case wakes(DispatchSemaphore)
        case endsDelay
        case refused(StorageError)
    }

    private enum Next {
        case batch([Waiting])
        case delay(nanoseconds: UInt64)
        case sleep
        /// The worker ends; these have waited for the last one.
        case end([CheckedContinuation<Void, Never>])
    }

    /// A call is refused at the tick after so many, which is after more than 4/5 of the maximum and not after more
    /// than all of it.
    private static let ticks = 4
    /// A worker that runs a batch for longer may be waiting for a lock or for a server that hangs.
    package static let usualTime: UInt64 = 20_000_000
    private static let clock = DispatchQueue(label: "latchkey.store.deadlines")

    private let kind: StoreCall.Kind
    private let hooks: StoreHooks
    private let maximumBatch: Int
    private let maximumUnshared: Int
    private let maximumWaiting: Int
    private let tick: Duration
    private let timer: any CommitTimer
    private let state: Mutex<State>

    /// - Parameters:
    ///   - maximumUnshared: The most works of a batch that can share no statement.
    ///   - timer: Delays works that allow it. It is this queue's alone.
    package init(
        _ kind: StoreCall.Kind, maximumBatch: Int, maximumUnshared: Int = .max, maximumWaiting: Int,
        maximumWait: Duration, _ hooks: StoreHooks, delayingBy timer: any CommitTimer = SystemCommitTimer()
    ) {
        self.kind = kind
        self.hooks = hooks
        self.timer = timer
        self.maximumBatch = max(1, maximumBatch)
        self.maximumUnshared = max(1, maximumUnshared)
        self.maximumWaiting = max(1, maximumWaiting)
        tick = max(maximumWait, .milliseconds(1)) / (Self.ticks + 1)
        let delay = CommitDelay(enough: min(CommitDelay.usualEnough, self.maximumBatch, self.maximumWaiting))
        state = Mutex(State(delay: delay))
    }

    /// How many callers wait for a connection, or for others that share their commit.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// How many workers wait for works.
    package var sleepingCount: Int { state.withLock { $0.sleeping.count } }

    /// How many batches have begun.
    package var batchCount: Int { state.withLock { $0.batches } }

    /// Runs `body` on a connection and returns its result. Cancelling the calling task does not stop it.
    ///
    /// Writes of several callers share a transaction. If one of them fails, `body` may run again.
    /// - Parameters:
    ///   - locks: What a write that decides by what it reads has to lock.
    ///   - delay: For how long it may be delayed for others that share its commit or statement, in nanoseconds.
    public func submit<Success: Sendable>(
        as operation: StaticString = #function, locking locks: [WriteLock] = [], allowing delay: UInt64 = 0,
        _ body: @escaping @Sendable (SQLSession) throws -> Success
    ) async throws(StorageError) -> Success {
        try await submit(as: operation, locking: locks, allowing: delay, sharing: nil, body)
    }

    /// - Parameter shared: What `body` runs, if it can share its statement.
    func submit<Success: Sendable>(
        as operation: StaticString = #function, locking locks: [WriteLock] = [], allowing delay: UInt64 = 0,
        sharing shared: (any SharedStatement)?, _ body: @escaping @Sendable (SQLSession) throws -> Success
    ) async throws(StorageError) -> Success {
        try await hooks.interceptor?(operation, kind, .before)
        let stopwatch = Stopwatch()
        let result = await withCheckedContinuation { caller in
            admit(AwaitedWork(for: caller, locking: locks, sharing: shared, body), allowing: delay)
        }
        if let observer = hooks.observer {
            let failure: StorageError.Code? = if case .failure(let error) = result { error.code } else { nil }
            observer(StoreCall(kind: kind, nanoseconds: stopwatch.nanoseconds, failure: failure))
        }
        let value = try result.get()
        try await hooks.interceptor?(operation, kind, .after)
        return value
    }

    /// Has a worker run batches with one connection until the queue ends.
    /// - Parameter run: Runs a batch, and completes each work in it.
    package func addWorker(_ name: String, _ run: @escaping @Sendable ([any DatabaseWork]) -> Void) {
        state.withLock { $0.workers += 1 }
        // Of different qualities, and not that of the loops: each has a limited number of workers.
        Worker.start(name, quality: kind == .write ? .utility : .default) { self.serve(run) }
    }

    /// Refuses further work. The workers end when all admitted work is done.
    func end() {
        let (sleeping, wasDelaying) = state.withLock { state in
            state.isClosed = true
            state.delay.cancel()
            defer { state.sleeping = [] }
            return (state.sleeping, state.delaying != nil)
        }
        for wake in sleeping { wake.signal() }
        if wasDelaying { timer.end() }
    }

    /// Refuses further work, and returns when all admitted work is done and the workers have ended.
    func drain() async {
        end()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let hasEnded = state.withLock { state in
                if state.workers > 0 { state.awaitingEnd.append(continuation) }
                return state.workers == 0
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Has the work run soon, or fails it at once.
    /// - Parameter delay: For how long it may be delayed, in nanoseconds.
    func admit(_ work: any DatabaseWork, allowing delay: UInt64) {
        let now = delay > 0 ? timer.nanoseconds : 0
        let canShare = work.shared != nil
        var mustTick = false
        let admission = state.withLock { state -> Admission in
            if state.isClosed { return .refused(StorageError(.closed, reason: "the store has been closed")) }
            guard state.waiting.count < maximumWaiting else {
                return .refused(StorageError(.overloaded, reason: "\(maximumWaiting) calls are waiting already"))
            }
            let wasOver = state.delay.isOver(waiting: state.waiting.count)
            state.delay.admit(allowing: delay, at: now, isFirst: state.waiting.isEmpty)
            state.waiting.append(Waiting(work: work, tick: state.tick))
            let isServed =
                state.delaying != nil
                || (canShare && state.sharing > 0 && state.waiting.count < maximumBatch
                    && timer.nanoseconds &- state.lastSharing < Self.usualTime)
            if !isServed, let wake = state.wake() {
                if canShare { state.lastSharing = timer.nanoseconds }
                return .wakes(wake)
            }
            mustTick = !state.isTicking
            state.isTicking = true
            let endsDelay = state.delaying != nil && !wasOver && state.delay.isOver(waiting: state.waiting.count)
            return endsDelay ? .endsDelay : .waits
        }
        if mustTick { scheduleTick() }
        switch admission {
        case .waits: break
        case .wakes(let wake): wake.signal()
        case .endsDelay: timer.end()
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
        let (overdue, wake) = state.withLock { state in
            state.tick += 1
            let overdue = Array(state.waiting.prefix { state.tick - $0.tick > Self.ticks })
            state.waiting.removeFirst(overdue.count)
            state.isTicking = !state.waiting.isEmpty
            if state.isTicking { scheduleTick() }
            // For those that wait for a worker that is held up.
            return (overdue, state.waiting.isEmpty ? nil : state.wake())
        }
        wake?.signal()
        guard !overdue.isEmpty else { return }
        let error = StorageError(.overloaded, reason: "no connection to the database became free in time")
        for call in overdue { call.work.fail(error) }
    }

    /// Runs batch after batch until the queue ends.
    private func serve(_ run: ([any DatabaseWork]) -> Void) {
        let wake = DispatchSemaphore(value: 0)
        var isSharing = false
        while true {
            switch next(wakingBy: wake, &isSharing) {
            case .batch(let batch): run(batch.map(\.work))
            case .delay(let nanoseconds): timer.wait(nanoseconds: nanoseconds)
            case .sleep:
                wake.wait()
                isSharing = true
            case .end(let awaiting):
                for continuation in awaiting { continuation.resume() }
                return
            }
        }
    }

    /// What a worker does next.
    /// - Parameter isSharing: Whether the worker is one of ``State/sharing``.
    private func next(wakingBy wake: DispatchSemaphore, _ isSharing: inout Bool) -> Next {
        state.withLock { state in
            let hasDelayed = state.delaying === wake
            if hasDelayed { state.delaying = nil }
            if isSharing { state.sharing -= 1 }
            isSharing = false
            guard !state.waiting.isEmpty, state.delaying == nil else {
                guard state.isClosed else {
                    state.sleeping.append(wake)
                    return .sleep
                }
                state.workers -= 1
                guard state.workers == 0 else { return .end([]) }
                defer { state.awaitingEnd = [] }
                return .end(state.awaitingEnd)
            }
            let remaining = state.delay.remaining(waiting: state.waiting.count) { timer.nanoseconds }
            if remaining > 0 {
                state.delaying = wake
                return .delay(nanoseconds: remaining)
            }
            state.batches += 1
            var unshared = 0
            let batch = Array(
                state.waiting.prefix(maximumBatch).prefix {
                    if $0.work.shared == nil { unshared += 1 }
                    return unshared <= maximumUnshared
                })
            state.waiting.removeFirst(batch.count)
            // Others may have left it more than a batch.
            if hasDelayed, !state.waiting.isEmpty { state.wake()?.signal() }
            if batch.allSatisfy({ $0.work.shared != nil }) {
                isSharing = true
                state.sharing += 1
                state.lastSharing = timer.nanoseconds
            }
            return .batch(batch)
        }
    }
}

extension Duration {
    /// Rounded up, so that a wait for the remaining time never ends early.
    package var milliseconds: Int64 {
        components.seconds * 1_000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
