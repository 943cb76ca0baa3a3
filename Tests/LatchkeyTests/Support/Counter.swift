import Synchronization

/// Counts what concurrent tasks do.
final class Counter: Sendable {
    private let count = Mutex(0)

    /// Adds one and tells the sum.
    func increment() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
