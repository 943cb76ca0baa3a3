import Primitives

extension RelyingParty {
    /// What a round of refreshes came to.
    public struct Refreshed: Sendable, Hashable {
        public var renewed: Int
        /// What was known serves on.
        public var failed: Int

        public init(renewed: Int = 0, failed: Int = 0) {
            self.renewed = renewed
            self.failed = failed
        }
    }

    /// Asks anew for metadata and keys that are in use and near the end of their time, so that no sign-in has to wait
    /// for them. To be called every few seconds; returns when what it began has ended, after a request's longest time at
    /// most. No more than ``CacheRules/maximumRefreshes`` run at once, and each shares its request with the sign-ins that
    /// need the same.
    public func refreshDue() async -> Refreshed {
        let limit = max(1, configuration.cache.maximumRefreshes)
        var steps = discovery.refreshes(now: clock.now(), limit: limit)
        for cache in keyCaches.due(now: clock.now(), limit: limit - steps.count) {
            steps.append({ await cache.refresh() })
        }
        return await withTaskGroup(of: Bool.self) { group in
            for step in steps { group.addTask { await step() } }
            var result = Refreshed()
            for await wentWell in group {
                if wentWell { result.renewed += 1 } else { result.failed += 1 }
            }
            return result
        }
    }
}
