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
