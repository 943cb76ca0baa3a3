#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Tells the time of day. Whatever depends on time is given one, so that tests can turn it by hand.
public struct WallClock: Sendable {
    private let read: @Sendable () -> Timestamp

    public init(_ read: @escaping @Sendable () -> Timestamp) {
        self.read = read
    }

    public func now() -> Timestamp { read() }

    /// The system's clock.
    public static let system = WallClock { Timestamp(secondsSinceEpoch: Int64(time(nil))) }
}
