import Primitives
import Synchronization

/// The key caches of all providers, one for each issuer and key set URL: a provider that names another's keys does not
/// share that one's allowance of fetches.
final class KeyCaches: Sendable {
    private struct Name: Hashable, Sendable {
        let issuer: String
        let url: EndpointURL
    }

    private let http: any HTTPClient
    private let clock: WallClock
    private let limits: OutboundLimits
    private let rules: CacheRules
    private let caches: Mutex<BoundedTable<Name, KeyCache>>

    init(http: any HTTPClient, clock: WallClock, limits: OutboundLimits, rules: CacheRules) {
        self.http = http
        self.clock = clock
        self.limits = limits
        self.rules = rules
        caches = Mutex(BoundedTable(capacity: rules.maximumNetworks))
    }

    func cache(of provider: ProviderMetadata) -> KeyCache {
        let name = Name(issuer: provider.issuer, url: provider.jwksURI)
        return caches.withLock { caches in
            if let cache = caches[name] { return cache }
            let cache = KeyCache(url: provider.jwksURI, http: http, clock: clock, limits: limits, rules: rules)
            caches.put(cache, for: name)
            return cache
        }
    }
}
