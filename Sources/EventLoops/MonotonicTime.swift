import Glibc

/// A time of the monotonic clock, in nanoseconds since an arbitrary start.
package struct MonotonicTime: Sendable, Hashable, Comparable {
    package let nanoseconds: UInt64

    @inlinable
    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// No deadline.
    package static let never = MonotonicTime(nanoseconds: .max)

    package static func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    @inlinable
    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Zero if the other time is earlier.
    package func duration(to later: MonotonicTime) -> Duration {
        later > self ? .nanoseconds(Int64(clamping: later.nanoseconds - nanoseconds)) : .zero
    }

    package func advanced(by duration: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = duration.components
        let wanted = max(0, seconds).multipliedReportingOverflow(by: 1_000_000_000)
        guard !wanted.overflow else { return .never }
        let (sum, overflow) = nanoseconds.addingReportingOverflow(
            UInt64(wanted.partialValue) &+ UInt64(max(0, attoseconds) / 1_000_000_000))
        return overflow ? .never : MonotonicTime(nanoseconds: sum)
    }
}
