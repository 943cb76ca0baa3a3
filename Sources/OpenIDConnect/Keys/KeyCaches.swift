import Primitives
import Synchronization

/// The key caches of all providers, one for each issuer and key set URL: a provider that names another's key set URL
/// does not use up the other's fetches.
final class KeyCaches: Sendable {
    private struct Name: Hashable, Sendable {
        let issuer: String
        let url: EndpointURL
    }

    private let http: any HTTPClient
    private let clock: WallClock
    private let limits: OutboundLimits
    private let rules: CacheRules
    private let random: RandomSource
    private let observer: RelyingPartyObserver
    private let caches: Mutex<BoundedCache<Name, KeyCache>>

    init(
        http: any HTTPClient, clock: WallClock, limits: OutboundLimits, rules: CacheRules, random: RandomSource,
        observer: RelyingPartyObserver
    ) {
        self.observer = observer
        self.random = random
        self.http = http
        self.clock = clock
        self.limits = limits
        self.rules = rules
        caches = Mutex(BoundedCache(capacity: rules.maximumNetworks))
    }

    func cache(of provider: ProviderMetadata) throws(OIDCError) -> KeyCache {
        guard let url = provider.jwksURI else {
            throw OIDCError(.keysUnavailable, reason: "The provider has no ID tokens, so it has no keys for them.")
        }
        return cache(of: provider.issuer, at: url)
    }

    func cache(of issuer: String, at url: EndpointURL) -> KeyCache {
        let name = Name(issuer: issuer, url: url)
        return caches.withLock { caches in
            if let cache = caches[name] { return cache }
            let cache = KeyCache(
                url: url, http: http, clock: clock, limits: limits, rules: rules,
                destination: .init(carrier: issuer, step: .keys), random: random,
                refreshed: { [observer] in observer.keyRefresh(issuer, $0) })
            caches.put(cache, for: name)
            return cache
        }
    }

    var statuses: [KeyStatus] {
        let all = caches.withLock { caches in caches.entries.map { (issuer: $0.key.issuer, cache: $0.value) } }
        return all.compactMap { $0.cache.status(of: $0.issuer) }
    }

    /// The caches that are due to be refreshed in the background, at most so many.
    func due(now: Timestamp, limit: Int) -> [KeyCache] {
        let all = caches.withLock { caches in caches.entries.map(\.value) }
        return Array(all.lazy.filter { $0.isRefreshDue(now: now) }.prefix(limit))
    }
}
