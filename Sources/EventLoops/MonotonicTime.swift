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

    package func advanced(by duration: Duration) -> MonotonicTime { advanced(by: Nanoseconds(duration)) }

    @inlinable
    package func advanced(by duration: Nanoseconds) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.count)
        return overflow ? .never : MonotonicTime(nanoseconds: sum)
    }

    /// Zero if the other time is earlier.
    package func nanoseconds(to later: MonotonicTime) -> Nanoseconds {
        Nanoseconds(count: later > self ? later.nanoseconds - nanoseconds : 0)
    }
}

/// A duration in nanoseconds, for what each request computes: `Duration` counts attoseconds in 128 bits, which takes a
/// hundred instructions where this takes one.
package struct Nanoseconds: Sendable, Hashable, Comparable {
    package let count: UInt64

    @inlinable
    package init(count: UInt64) { self.count = count }

    /// Rounds down; zero for a negative duration.
    package init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = UInt64(max(0, seconds)).multipliedReportingOverflow(by: 1_000_000_000)
        // Less than a second.
        let rest = UInt64(max(0, attoseconds) / 1_000_000_000)
        count = overflow || whole > .max - rest ? .max : whole + rest
    }

    @inlinable
    package static func < (left: Nanoseconds, right: Nanoseconds) -> Bool { left.count < right.count }
}
