import Primitives
import StorageModel

/// Whether the store can be used. The store is asked at most once a second, because anyone may ask for readiness.
package final class Readiness: Sendable {
    private let check: CachedRead<Bool, Never>

    init(store: any MaintainedStore, clock: WallClock) {
        check = CachedRead(lifetime: 1, clock: clock) {
            do {
                try await store.check()
                return true
            } catch {
                return false
            }
        }
    }

    /// Whether the store answered its check within this second.
    package func isReady() async -> Bool { await check() }
}
