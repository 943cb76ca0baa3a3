import Synchronization

/// Counts the calls of concurrent tasks.
final class CallCounter: Sendable {
    private let count = Mutex(0)

    /// Adds one and returns the sum.
    func increment() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
