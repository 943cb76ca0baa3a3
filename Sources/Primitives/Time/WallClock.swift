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
}
