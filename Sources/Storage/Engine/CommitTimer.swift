import Dispatch
import Primitives

/// Lets a connection's queue wait before a commit. Tests have one of their own.
protocol CommitTimer: Sendable {
    /// A monotonic clock.
    var nanoseconds: UInt64 { get }
    /// Blocks until the time has passed or ``end()`` is called. It may return earlier.
    func wait(nanoseconds: UInt64)
    /// Ends the wait that has begun, or the next one.
    func end()
}

/// A commit timer with the system's clock.
final class SystemCommitTimer: CommitTimer {
    private let stopwatch = Stopwatch()
    private let ended = DispatchSemaphore(value: 0)

    var nanoseconds: UInt64 { stopwatch.nanoseconds }

    func wait(nanoseconds: UInt64) { _ = ended.wait(timeout: .now() + .nanoseconds(Int(clamping: nanoseconds))) }

    func end() { ended.signal() }
}
