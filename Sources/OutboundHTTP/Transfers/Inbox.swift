import OpenIDConnect
import Synchronization

/// Where tasks leave their requests for the loop's thread.
final class Inbox: Sendable {
    private struct State {
        var arrivals: [Exchange] = []
        /// The thread waits in `poll`, or is about to, and nobody has woken it yet.
        var isSleeping = false
        var isStopping = false
        var mayWake = true
        var hasEnded = false
        var awaitingEnd: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let multi: MultiHandle

    init(waking multi: MultiHandle) {
        self.multi = multi
    }

    /// Hands a request over. It will be finished, if only with `shutDown`.
    func post(_ exchange: Exchange) {
        let isStopping = state.withLock { state in
            if state.isStopping { return true }
            state.arrivals.append(exchange)
            wake(&state)
            return false
        }
        guard isStopping else { return }
        exchange.continuation.resume(returning: exchange.failure(.shutDown, "the client was shut down"))
    }

    /// Makes the loop end soon. Does not wait.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            wake(&state)
        }
    }

    /// Returns when the loop has ended and all is closed.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.awaitingEnd.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// One wake-up for each sleep, however many arrive; none at all while the thread is at work. Under the lock, so
    /// that none can come after ``endWaking()``.
    private func wake(_ state: inout State) {
        guard state.isSleeping, state.mayWake else { return }
        state.isSleeping = false
        multi.wakeUp()
    }
}

// What the loop's thread asks.
extension Inbox {
    /// Moves what has arrived to `batch`, which must be empty; false once the loop is to stop.
    func take(into batch: inout [Exchange]) -> Bool {
        state.withLock { state in
            state.isSleeping = false
            swap(&state.arrivals, &batch)
            return !state.isStopping
        }
    }

    /// True if nothing has arrived, so that the thread may sleep: what arrives from now on wakes it.
    func beginSleep() -> Bool {
        state.withLock { state in
            state.isSleeping = state.arrivals.isEmpty && !state.isStopping
            return state.isSleeping
        }
    }

    /// No wake-up comes after this.
    func endWaking() {
        state.withLock { $0.mayWake = false }
    }

    /// Lets those go on who wait for the end.
    func announceEnd() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.awaitingEnd = [] }
            return state.awaitingEnd
        }
        for continuation in waiting { continuation.resume() }
    }
}
