import Dispatch
import Synchronization

/// Blocks the thread of one handler until it is opened.
final class ThreadGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isReached = Mutex(false)

    func pass() {
        isReached.withLock { $0 = true }
        semaphore.wait()
    }

    func open() { semaphore.signal() }

    /// Returns when the thread is blocked.
    func whenReached() async { while !isReached.withLock({ $0 }) { await Task.yield() } }
}
