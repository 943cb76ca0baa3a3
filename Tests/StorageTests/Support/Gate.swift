import Dispatch
import Storage
import StorageModel
import Synchronization

/// A flag to wait for.
final class Flag: Sendable {
    private let state = Mutex(false)

    var isRaised: Bool { state.withLock { $0 } }

    func raise() { state.withLock { $0 = true } }
}

/// Holds a connection's queue until it is opened. Not for cooperative threads.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let reached = Flag()

    func wait() {
        reached.raise()
        semaphore.wait()
    }

    func open() { semaphore.signal() }

    /// Returns when a thread waits at the gate.
    func whenReached() async {
        while !reached.isRaised { await Task.yield() }
    }
}
