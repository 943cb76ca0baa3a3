import Dispatch

/// Holds a connection's queue until it is opened. Not for cooperative threads.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func wait() { semaphore.wait() }

    func open() { semaphore.signal() }
}
