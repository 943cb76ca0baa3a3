#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The time of day. Injected into everything that depends on it, so that tests can advance it.
public struct WallClock: Sendable {
    private let read: @Sendable () -> Timestamp

    /// A clock that a closure reads.
    public init(_ read: @escaping @Sendable () -> Timestamp) { self.read = read }

    /// The current time.
    public func now() -> Timestamp { read() }

    /// The system's clock.
    public static let system = WallClock { Timestamp(secondsSinceEpoch: Int64(time(nil))) }

    /// The part of the current second that has passed, in 1/65536, by the system's clock.
    package static func systemFraction() -> UInt16 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt16(truncatingIfNeeded: (UInt64(time.tv_nsec) << 16) / 1_000_000_000)
    }
}

/// The time since some start, by a clock that is never set. Injected into everything that limits rates, so that tests
/// can advance it.
public struct Uptime: Sendable {
    private let read: @Sendable () -> Duration

    /// An uptime that a closure reads.
    public init(_ read: @escaping @Sendable () -> Duration) { self.read = read }

    /// The time since the start.
    public func elapsed() -> Duration { read() }

    /// Since its first use in the process.
    public static let system: Uptime = {
        let start = ContinuousClock.now
        return Uptime { ContinuousClock.now - start }
    }()
}

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
