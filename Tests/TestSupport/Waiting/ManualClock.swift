public import Primitives
import Synchronization

/// A clock that a test sets.
public final class ManualClock: Sendable {
    private let time: Mutex<Timestamp>

    public init(secondsSinceEpoch: Int64 = 1_800_000_000) {
        time = Mutex(Timestamp(secondsSinceEpoch: secondsSinceEpoch))
    }

    public var now: Timestamp { time.withLock { $0 } }

    public func advance(bySeconds seconds: Int64) {
        time.withLock { $0 = $0.advanced(bySeconds: seconds) }
    }

    /// The clock for the code under test.
    public var wallClock: WallClock { WallClock { self.now } }
}

/// An uptime that a test advances.
public final class ManualUptime: Sendable {
    private let now = Mutex(Duration.zero)

    public init() {}

    public func advance(by duration: Duration) { now.withLock { $0 += duration } }

    public var uptime: Uptime { Uptime { self.now.withLock { $0 } } }
}
