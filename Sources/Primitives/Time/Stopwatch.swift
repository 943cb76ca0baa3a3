#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Measures a duration in nanoseconds by the monotonic clock. Cheap, because every request reads it.
public struct Stopwatch: Sendable {
    private let start: UInt64

    /// Starts now.
    public init() { start = Self.now() }

    /// The time since the start.
    public var nanoseconds: UInt64 {
        let now = Self.now()
        return now > start ? now - start : 0
    }

    /// Milliseconds with two decimals, for logs.
    public static func milliseconds(_ nanoseconds: UInt64) -> Double {
        (Double(nanoseconds) / 10_000).rounded() / 100
    }

    private static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
