/// Tells how much time has passed since some moment, without regard to how clocks are set. Whatever paces its callers is
/// given one, so that tests can turn it by hand.
public struct Uptime: Sendable {
    private let read: @Sendable () -> Duration

    public init(_ read: @escaping @Sendable () -> Duration) {
        self.read = read
    }

    public func elapsed() -> Duration { read() }

    /// Since the process first asked.
    public static let system: Uptime = {
        let start = ContinuousClock.now
        return Uptime { ContinuousClock.now - start }
    }()
}
