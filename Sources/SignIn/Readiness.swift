import Primitives
import Storage
import Synchronization

/// Says whether the store can be used, asking it at most once a second however often it is asked itself.
public final class Readiness: Sendable {
    private let store: any Store
    private let clock: WallClock
    private let last = Mutex<(time: Timestamp, isReady: Bool)?>(nil)

    init(store: any Store, clock: WallClock) {
        self.store = store
        self.clock = clock
    }

    public func isReady() async -> Bool {
        let now = clock.now()
        if let last = last.withLock({ $0 }), last.time == now { return last.isReady }
        let isReady: Bool
        do {
            try await store.check()
            isReady = true
        } catch {
            isReady = false
        }
        last.withLock { $0 = (now, isReady) }
        return isReady
    }
}
