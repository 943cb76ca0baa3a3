import OpenIDConnect
import Synchronization

/// Hands requests from tasks to the loop's thread.
final class Inbox: Sendable {
    private struct State {
        var arrivals: [Exchange] = []
        /// The thread waits in `poll`, or is about to, and was not woken yet.
        var isSleeping = false
        var isStopping = false
        var mayWake = true
        var hasEnded = false
        var awaitingEnd: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let multi: MultiHandle

    init(waking multi: MultiHandle) { self.multi = multi }

    /// Hands a request over. It is finished in any case, after a shutdown with `shutDown`.
    func post(_ exchange: Exchange) {
        let isStopping = state.withLock { state in
            if state.isStopping { return true }
            state.arrivals.append(exchange)
            wake(&state)
            return false
        }
        guard isStopping else { return }
        exchange.continuation.resume(returning: .failure(exchange.error(.shutDown, "the client was shut down")))
    }

    /// Makes the loop end soon, without waiting for it.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            wake(&state)
        }
    }

    /// Returns when the loop has ended and all connections are closed.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.awaitingEnd.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Wakes the thread once for each sleep, and not while it works. Runs under the lock, so that no wake-up comes
    /// after ``endWaking()``.
    private func wake(_ state: inout State) {
        guard state.isSleeping, state.mayWake else { return }
        state.isSleeping = false
        multi.wakeUp()
    }
}

// Called by the loop's thread.
extension Inbox {
    /// Moves the arrivals to `batch`, which must be empty; false once the loop must stop.
    func take(into batch: inout [Exchange]) -> Bool {
        state.withLock { state in
            state.isSleeping = false
            swap(&state.arrivals, &batch)
            return !state.isStopping
        }
    }

    /// True if nothing has arrived, so that the thread may sleep. Later arrivals wake it.
    func beginSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.arrivals.isEmpty && !state.isStopping
            return state.isSleeping
        }
    }

    /// Prevents further wake-ups.
    func endWaking() { state.withLock { $0.mayWake = false } }

    /// Resumes the callers of ``waitForEnd()``.
    func announceEnd() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.awaitingEnd = [] }
            return state.awaitingEnd
        }
        for continuation in waiting { continuation.resume() }
    }
}
