import Primitives

extension RelyingParty {
    /// The result of a round of background refreshes.
    public struct Refreshed: Sendable, Hashable {
        /// How many documents were replaced by newer ones.
        public var renewed: Int
        /// How many refreshes failed. The known documents serve on.
        public var failed: Int

        /// The result of so many refreshes.
        public init(renewed: Int = 0, failed: Int = 0) {
            self.renewed = renewed
            self.failed = failed
        }
    }

    /// Fetches metadata and keys again that are in use and near the end of their lifetime, so that no sign-in has to
    /// wait for them. Call it every few seconds; it returns when its requests have ended. At most
    /// ``CacheRules/maximumRefreshes`` run at once, and each is shared with the sign-ins that need the same document.
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
