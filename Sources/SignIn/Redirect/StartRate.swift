package import Primitives
import Synchronization

/// Limits how many redirect sign-ins start in a second: each is stored until it comes back or expires, and a start
/// needs no API key.
package final class StartRate: Sendable {
    private struct Window {
        var second: Timestamp
        var count = 0
    }

    private let perSecond: Int
    private let window = Mutex<Window?>(nil)

    package init(perSecond: Int = 500) { self.perSecond = perSecond }

    package func admits(at now: Timestamp) -> Bool {
        window.withLock { window in
            var current = window.flatMap { $0.second == now ? $0 : nil } ?? Window(second: now)
            current.count += 1
            window = current
            return current.count <= perSecond
        }
    }
}
