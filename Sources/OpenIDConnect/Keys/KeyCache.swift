package import Primitives
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

    private let url: EndpointURL
    private let destination: OutboundRequest.Destination?
    private let http: any HTTPClient
    private let clock: WallClock
    private let limits: OutboundLimits
    private let rules: CacheRules
    private let random: RandomSource
    private let refreshed: @Sendable (_ wentWell: Bool) -> Void
    private let state: Mutex<State>
    private let fetches = SingleFlight<EndpointURL, Result<Void, OIDCError>>()

    package init(
        url: EndpointURL, http: any HTTPClient, clock: WallClock, limits: OutboundLimits = OutboundLimits(),
        rules: CacheRules = CacheRules(), destination: OutboundRequest.Destination? = nil,
        random: RandomSource = .system,
        refreshed: @escaping @Sendable (_ wentWell: Bool) -> Void = { _ in }
    ) {
        self.refreshed = refreshed
        self.url = url
        self.destination = destination
        self.random = random
        self.http = http
        self.clock = clock
        self.limits = limits
        self.rules = rules
        let bucket = TokenBucket(
            capacity: rules.keyFetchBurst, secondsPerToken: rules.keyFetchInterval, now: clock.now())
        state = Mutex(State(bucket: bucket))
    }

    /// The keys: fresh ones from the cache, else fetched ones, else stale ones.
    ///
    /// - Throws: ``OIDCError/Code/keysUnavailable``, or a time-out or transport error, if there are none.
    package func current(
        for correlationID: CorrelationID? = nil, _ tell: (KeyFetch) -> Void = { _ in }
    ) async throws(OIDCError) -> Snapshot {
        let now = clock.now()
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
        let now = clock.now()
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
    /// - Parameters:
    ///   - correlationID: Of the sign-in that waits.
    ///   - mayFetch: Whether keys may be fetched after a failure.
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
        if case .success = await fetch(now: clock.now()) { true } else { false }
    }

    /// The keys, however old they are; nil if there are none.
    var held: JSONWebKeySet? { state.withLock { $0.held?.keys } }

    /// How old the keys are; nil if there are none.
    func status(of issuer: String) -> KeyStatus? {
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
    /// - Parameter correlationID: Of the sign-in that waits.
    private func fetch(
        now: Timestamp, for correlationID: CorrelationID? = nil
    ) async -> Result<Void, OIDCError> {
        await fetches.value(
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
                do throws(OIDCError) {
                    try await self.fetchAndKeep(for: correlationID)
                    self.refreshed(true)
                    return .success(())
                } catch {
                    self.postpone()
                    self.refreshed(false)
                    return .failure(error)
                }
            })
    }

    private func fetchAndKeep(for correlationID: CorrelationID?) async throws(OIDCError) {
        let request = OutboundRequest(
            documentAt: url, timeout: limits.keysTimeout, maximumBodyBytes: limits.keysBytes, destination: destination,
            correlationID: correlationID)
        try await http.send(request, "The request for the provider's keys", codeMayBeSpent: true, read: keep)
    }

    private func keep(_ response: OutboundResponse) throws(OIDCError) {
        guard response.status == 200, response.body.count <= limits.keysBytes,
            let keys = JSONWebKeySet(parsing: response.body)
        else {
            throw OIDCError(
                .keysUnavailable, codeMayBeSpent: true,
                reason: "The provider's key set, of status \(response.status), cannot be read, or is empty.")
        }
        // The provider has a key set, and none of its keys can be trusted.
        guard keys.count > 0 else { throw .failed(.key) }
        let freshness = Freshness(response, at: clock.now(), rules: rules, random: random)
        state.withLock { state in
            state.held = (keys, freshness)
            state.generation += 1
        }
    }

    private func postpone() {
        let now = clock.now()
        state.withLock { $0.held?.freshness.postpone(at: now, rules: rules, random: random) }
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
