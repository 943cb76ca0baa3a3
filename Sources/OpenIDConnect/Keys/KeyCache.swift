public import Primitives
import Synchronization

/// One provider's signing keys, fetched when they are needed.
///
/// Concurrent callers share one fetch. Every fetch, failed and empty ones too, takes a token from a small bucket. Good
/// keys are replaced only by a set with usable keys.
package final class KeyCache: Sendable {
    private struct State {
        var held: (keys: JSONWebKeySet, freshness: Freshness)?
        /// Counts the sets, so that a caller that misses a key can tell whether the set has changed since.
        var generation = 0
        var bucket: TokenBucket
    }

    /// A key set, and its number among those that the cache has held.
    package struct Snapshot: Sendable {
        package let keys: JSONWebKeySet
        let generation: Int
    }

    private let issuer: String
    private let url: EndpointURL
    private let access: ProviderAccess
    private let state: Mutex<State>
    private let fetches = SingleFlight<EndpointURL, Result<Void, OIDCError>>()

    init(of issuer: String, at url: EndpointURL, _ access: ProviderAccess) {
        self.issuer = issuer
        self.url = url
        self.access = access
        let rules = access.configuration.cache
        let bucket = TokenBucket(
            capacity: rules.keyFetchBurst, secondsPerToken: rules.keyFetchInterval, now: access.clock.now())
        state = Mutex(State(bucket: bucket))
    }

    /// The keys: fresh ones from the cache, else fetched ones, else stale ones.
    ///
    /// - Throws: ``OIDCError/Code/keysUnavailable``, or a time-out or transport error, if there are none.
    package func current(
        for correlationID: CorrelationID? = nil, _ tell: (KeyFetch) -> Void = { _ in }
    ) async throws(OIDCError) -> Snapshot {
        let now = access.clock.now()
        if let snapshot = snapshot(now: now, freshOnly: true) { return snapshot }
        tell(.began)
        let result = await fetch(now: now, for: correlationID)
        if let snapshot = snapshot(now: now, freshOnly: false) {
            tell(.ended)
            return snapshot
        }
        try result.get()
        throw OIDCError(.keysUnavailable, codeMayBeSpent: true, reason: "The provider has no usable keys.")
            .at(.init(to: url))
    }

    /// A newer set than one in which a key is missing; nil if no newer one is available now.
    package func newer(
        than old: Snapshot, for correlationID: CorrelationID? = nil, _ tell: (KeyFetch) -> Void = { _ in }
    ) async -> Snapshot? {
        let now = access.clock.now()
        if let snapshot = snapshot(now: now, freshOnly: false), snapshot.generation > old.generation {
            return snapshot
        }
        tell(.began)
        _ = await fetch(now: now, for: correlationID)
        tell(.ended)
        guard let snapshot = snapshot(now: now, freshOnly: false) else { return nil }
        return snapshot.generation > old.generation ? snapshot : nil
    }

    /// Checks a signature with a key set, and after a failure with a newer one.
    package func check<Value, Refusal: Error>(
        with held: Snapshot, for correlationID: CorrelationID? = nil, mayFetch: (Refusal) -> Bool = { _ in true },
        _ check: (JSONWebKeySet) throws(Refusal) -> Value
    ) async throws(Refusal) -> Value {
        do throws(Refusal) {
            return try check(held.keys)
        } catch {
            guard mayFetch(error), let newer = await newer(than: held, for: correlationID) else { throw error }
            return try check(newer.keys)
        }
    }

    /// Whether the keys are in use and old enough to be fetched again before their time.
    func isRefreshDue(now: Timestamp) -> Bool {
        !fetches.isInFlight(url) && state.withLock { $0.held?.freshness.isRefreshDue(at: now) ?? false }
    }

    /// Fetches the keys before they expire. The cached keys stay in use meanwhile, and also after a failed fetch.
    /// - Returns: Whether there are new keys.
    func refresh() async -> Bool {
        if case .success = await fetch(now: access.clock.now()) { true } else { false }
    }

    /// The keys, however old they are; nil if there are none.
    var held: JSONWebKeySet? { state.withLock { $0.held?.keys } }

    /// How old the keys are; nil if there are none.
    var status: KeyStatus? {
        state.withLock { state in
            state.held.map {
                KeyStatus(
                    issuer: issuer, fetchedAt: $0.freshness.fetchedAt, freshUntil: $0.freshness.freshUntil,
                    count: $0.keys.count)
            }
        }
    }

    private func snapshot(now: Timestamp, freshOnly: Bool) -> Snapshot? {
        state.withLock { state in
            guard let held = state.held, now < held.freshness.usableUntil, !freshOnly || held.freshness.isFresh(at: now)
            else { return nil }
            state.held?.freshness.isInUse = true
            return Snapshot(keys: held.keys, generation: state.generation)
        }
    }

    /// Joins the fetch under way or begins one, if the bucket allows.
    private func fetch(
        now: Timestamp, for correlationID: CorrelationID? = nil
    ) async -> Result<Void, OIDCError> {
        let limits = access.configuration.limits
        return await fetches.value(
            for: url,
            unless: { _ in
                guard !self.state.withLock({ $0.bucket.take(now: now) }) else { return nil }
                return .failure(
                    OIDCError(
                        .keysUnavailable, codeMayBeSpent: true,
                        reason: "The provider's keys were fetched too often within a short time."
                    ).at(.init(to: self.url)))
            },
            {
                let request = OutboundRequest(
                    documentAt: self.url, timeout: limits.keysTimeout, maximumBodyBytes: limits.keysBytes,
                    destination: .init(carrier: self.issuer, step: .keys), correlationID: correlationID)
                do throws(OIDCError) {
                    try await self.access.http.send(
                        request, "The request for the provider's keys", codeMayBeSpent: true, read: self.keep)
                    self.access.observer.keyRefresh(self.issuer, true)
                    return .success(())
                } catch {
                    self.postpone()
                    self.access.observer.keyRefresh(self.issuer, false)
                    return .failure(error)
                }
            })
    }

    private func keep(_ response: OutboundResponse) throws(OIDCError) {
        let limits = access.configuration.limits
        guard response.status == 200, response.body.count <= limits.keysBytes,
            let keys = JSONWebKeySet(ProviderResponse.json(response.body, of: limits))
        else {
            throw OIDCError(
                .keysUnavailable, codeMayBeSpent: true,
                reason: "The provider's key set, of status \(response.status), cannot be read, or is empty.")
        }
        // The provider has a key set, and none of its keys can be trusted.
        guard keys.count > 0 else { throw .failed(.key) }
        let freshness = Freshness(
            response, at: access.clock.now(), rules: access.configuration.cache, random: access.random)
        state.withLock { state in
            state.held = (keys, freshness)
            state.generation += 1
        }
    }

    private func postpone() {
        let now = access.clock.now()
        state.withLock {
            $0.held?.freshness.postpone(at: now, rules: access.configuration.cache, random: access.random)
        }
    }
}

/// Marks a wait for a provider's signing keys.
public enum KeyFetch: Sendable {
    /// The wait begins, because the keys are not cached.
    case began
    /// The wait ends. Validation continues with the fetched keys, or with the cached ones if the fetch failed. The end
    /// is not reported if there are no keys.
    case ended
}

/// The key caches of all providers, one for each issuer and key set URL. A provider that names another's key set URL
/// therefore cannot use up the other's fetches.
final class KeyCaches: Sendable {
    private struct Name: Hashable, Sendable {
        let issuer: String
        let url: EndpointURL
    }

    private let access: ProviderAccess
    private let caches: Mutex<BoundedCache<Name, KeyCache>>

    init(_ access: ProviderAccess) {
        self.access = access
        caches = Mutex(BoundedCache(capacity: access.configuration.cache.maximumNetworks))
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
            let cache = KeyCache(of: issuer, at: url, access)
            caches.put(cache, for: name)
            return cache
        }
    }

    var statuses: [KeyStatus] { all.compactMap(\.status) }

    /// The caches that are due to be refreshed in the background, at most so many.
    func due(now: Timestamp, limit: Int) -> [KeyCache] {
        Array(all.lazy.filter { $0.isRefreshDue(now: now) }.prefix(limit))
    }

    private var all: [KeyCache] { caches.withLock { $0.entries.map(\.value) } }
}

/// The cached signing keys of one issuer.
public struct KeyStatus: Sendable, Hashable {
    /// As the issuer's metadata spells it.
    public let issuer: String
    public let fetchedAt: Timestamp
    /// Until then no new fetch is needed.
    public let freshUntil: Timestamp
    /// How many of the keys can be used.
    public let count: Int
}
