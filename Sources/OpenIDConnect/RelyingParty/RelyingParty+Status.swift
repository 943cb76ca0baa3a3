public import Primitives

/// The state of a relying party, for administrators, and the refreshes of its caches.
extension RelyingParty {
    /// The result of background refreshes: how many documents were replaced by newer ones, and how many refreshes
    /// failed. The known documents serve on.
    public typealias Refreshed = (renewed: Int, failed: Int)

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
            var result: Refreshed = (0, 0)
            for await wentWell in group {
                if wentWell { result.renewed += 1 } else { result.failed += 1 }
            }
            return result
        }
    }

    /// How many requests to providers are under way.
    public var requestsInFlight: Int { bulkhead.inFlight }

    /// The destinations whose circuit breaker is not closed.
    public var failingDestinations: [(destination: OutboundRequest.Destination, status: ProviderStatus)] {
        bulkhead.statuses
    }

    /// The cached keys, one set for each issuer and key set URL.
    public var keyStatuses: [KeyStatus] { keyCaches.statuses }

    /// The provider's cached keys, however old they are; nil if there are none.
    package func heldKeys(of provider: ProviderMetadata) -> JSONWebKeySet? {
        (try? keyCaches.cache(of: provider))?.held
    }

    /// The age of the provider's cached keys; nil if there are none.
    package func keyStatus(of provider: ProviderMetadata) -> KeyStatus? {
        (try? keyCaches.cache(of: provider))?.status
    }

    /// When the provider's metadata was fetched; nil if it is configured, or not in the cache.
    package func metadataFetchedAt(_ provider: ProviderMetadata) -> Timestamp? { discovery.fetchedAt(provider) }
}
