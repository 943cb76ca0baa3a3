public import Primitives
import Synchronization

/// An uptime that a test advances.
public final class ManualUptime: Sendable {
    private let now = Mutex(Duration.zero)

    public init() {}

    public func advance(by duration: Duration) { now.withLock { $0 += duration } }

    public var uptime: Uptime { Uptime { self.now.withLock { $0 } } }
}
