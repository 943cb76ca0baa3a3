package import Primitives
import Synchronization

/// Limits how many redirect sign-ins start in a second: each is stored until it comes back or expires, and a start
/// needs no API key.
package final class StartRate: Sendable {
    private let perSecond: Int
    private let window = Mutex<(second: Timestamp, count: Int)?>(nil)

    package init(perSecond: Int = 500) { self.perSecond = perSecond }

    package func admits(at now: Timestamp) -> Bool {
        window.withLock { window in
            let count = window.map { $0.second == now ? $0.count + 1 : 1 } ?? 1
            window = (now, count)
            return count <= perSecond
        }
    }
}
