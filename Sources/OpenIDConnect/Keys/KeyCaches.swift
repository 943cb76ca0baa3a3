import Primitives
import Synchronization

/// The key caches of all providers, one for each issuer and key set URL. A provider that names another's key set URL
/// therefore cannot use up the other's fetches.
final class KeyCaches: Sendable {
    private struct Name: Hashable, Sendable {
        let issuer: String
        let url: EndpointURL
    }

    private let make: @Sendable (_ issuer: String, _ url: EndpointURL) -> KeyCache
    private let caches: Mutex<BoundedCache<Name, KeyCache>>

    init(capacity: Int, make: @escaping @Sendable (_ issuer: String, _ url: EndpointURL) -> KeyCache) {
        self.make = make
        caches = Mutex(BoundedCache(capacity: capacity))
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
            let cache = make(issuer, url)
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
