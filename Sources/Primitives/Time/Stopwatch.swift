#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Measures how long something takes, in nanoseconds, by a clock that is not set. Two words of the clock and no arithmetic
/// beyond 64 bits: it is read for every request.
public struct Stopwatch: Sendable {
    private let start: UInt64

    public init() { start = Self.now() }

    /// Since it was made.
    public var nanoseconds: UInt64 {
        let now = Self.now()
        return now > start ? now - start : 0
    }

    /// For people: milliseconds with two decimals.
    public static func milliseconds(_ nanoseconds: UInt64) -> Double {
        (Double(nanoseconds) / 10_000).rounded() / 100
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
