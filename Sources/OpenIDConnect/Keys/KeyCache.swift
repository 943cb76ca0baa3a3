package import Primitives
import Synchronization

/// One provider's signing keys, fetched when they are needed.
///
/// Callers that need keys at the same time share one fetch, which runs on its own: whoever is cancelled takes nothing
/// from the others. Every fetch costs a token of a small bucket, failed and empty ones too. Keys that were good are
/// replaced only by a set with usable keys.
package final class KeyCache: Sendable {
    private struct State {
        var keys: JSONWebKeySet?
        /// Counts the sets there were, so that who finds a key missing knows whether the set has changed since.
        var generation = 0
        var fetchedAt = Timestamp(secondsSinceEpoch: 0)
        var freshUntil = Timestamp(secondsSinceEpoch: 0)
        var usableUntil = Timestamp(secondsSinceEpoch: 0)
        var refreshAt = Timestamp(secondsSinceEpoch: 0)
        /// Whether anybody has needed the set since it was fetched: what nobody uses is not refreshed.
        var isInUse = false
        var bucket: TokenBucket
        var fetch: Task<OIDCError?, Never>?
    }

    /// A key set and which in the cache's life it is.
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
        state = Mutex(
            State(
                bucket: TokenBucket(
                    capacity: rules.keyFetchBurst, secondsPerToken: rules.keyFetchInterval, now: clock.now())))
    }

    /// The keys: from the cache while they are fresh, else fetched; and those of the cache for a while longer if that
    /// fails.
    ///
    /// - Throws: ``OIDCError/Code/keysUnavailable``, or a time-out or transport error, if there are none.
    package func current(_ tell: (KeyFetch) -> Void = { _ in }) async throws(OIDCError) -> Snapshot {
        let now = clock.now()
        if let snapshot = snapshot(now: now, freshOnly: true) { return snapshot }
        tell(.began)
        let failure = await fetch(now: now)
        tell(.ended)
        if let snapshot = snapshot(now: now, freshOnly: false) { return snapshot }
        throw failure ?? OIDCError(.keysUnavailable, codeMayBeSpent: true, reason: "The provider has no usable keys.")
    }

    /// A newer set than one in which a key was missing, or nil if there is none to be had now.
    package func newer(than old: Snapshot, _ tell: (KeyFetch) -> Void = { _ in }) async -> Snapshot? {
        let now = clock.now()
        if let snapshot = snapshot(now: now, freshOnly: false), snapshot.generation > old.generation {
            return snapshot
        }
        tell(.began)
        _ = await fetch(now: now)
        tell(.ended)
        guard let snapshot = snapshot(now: now, freshOnly: false) else { return nil }
        return snapshot.generation > old.generation ? snapshot : nil
    }

    /// Whether the keys are in use and old enough to be fetched anew before their time.
    func isRefreshDue(now: Timestamp) -> Bool {
        state.withLock { state in
            state.isInUse && state.fetch == nil && state.refreshAt <= now && now < state.usableUntil
        }
    }

    /// Fetches the keys before their time, as one fetch with whoever else needs them. Those at hand serve meanwhile, and
    /// on if it fails.
    /// - Returns: Whether it went well.
    func refresh() async -> Bool { await fetch(now: clock.now()) == nil }

    private func snapshot(now: Timestamp, freshOnly: Bool) -> Snapshot? {
        state.withLock { state in
            guard let keys = state.keys, now < state.usableUntil, !freshOnly || now < state.freshUntil else {
                return nil
            }
            state.isInUse = true
            return Snapshot(keys: keys, generation: state.generation)
        }
    }

    /// Joins the fetch under way or begins one, if the bucket allows.
    private func fetch(now: Timestamp) async -> OIDCError? {
        let running = state.withLock { state -> Task<OIDCError?, Never>? in
            if let running = state.fetch { return running }
            guard state.bucket.take(now: now) else { return nil }
            let task = Task { await self.fetchAndKeep() }
            state.fetch = task
            return task
        }
        guard let running else {
            return OIDCError(
                .keysUnavailable, codeMayBeSpent: true, reason: "The provider's keys were asked for too often.")
        }
        return await running.value
    }

    private func fetchAndKeep() async -> OIDCError? {
        let request = OutboundRequest(
            method: .get, url: url, headers: [("Accept", "application/json")], timeout: limits.keysTimeout,
            maximumBodyBytes: limits.keysBytes, destination: destination)
        do throws(OutboundError) {
            let response = try await http.send(request)
            return keep(response)
        } catch {
            return giveUp(OIDCError(error, of: "The request for the provider's keys", codeMayBeSpent: true))
        }
    }

    private func keep(_ response: OutboundResponse) -> OIDCError? {
        guard response.status == 200, response.body.count <= limits.keysBytes,
            let keys = JSONWebKeySet(parsing: response.body)
        else {
            let reason = "The provider's key set cannot be read, or is empty."
            return giveUp(OIDCError(.keysUnavailable, codeMayBeSpent: true, reason: reason))
        }
        // The provider has spoken, and none of its keys is one to believe.
        guard keys.count > 0 else { return giveUp(.failed(.key)) }
        let now = clock.now()
        let lifetime = rules.lifetime(cacheControl: response.cacheControl)
        let fresh = now.advanced(bySeconds: lifetime)
        let refresh = now.advanced(bySeconds: rules.refreshDelay(of: lifetime, random))
        state.withLock { state in
            state.keys = keys
            state.generation += 1
            state.fetchedAt = now
            state.freshUntil = fresh
            state.usableUntil = fresh.advanced(bySeconds: rules.staleLifetime)
            state.refreshAt = refresh
            state.isInUse = false
            state.fetch = nil
        }
        refreshed(true)
        return nil
    }

    /// How old the keys are; nil if there are none.
    func status(of issuer: String) -> KeyStatus? {
        state.withLock { state in
            state.keys.map {
                KeyStatus(
                    issuer: issuer, fetchedAt: state.fetchedAt, freshUntil: state.freshUntil, count: $0.count)
            }
        }
    }

    /// Keeps what there was, and lets it serve without another try for a moment: no sign-in waits for a provider whose
    /// keys were asked for in vain just now.
    private func giveUp(_ error: OIDCError) -> OIDCError {
        let now = clock.now()
        let retry = now.advanced(bySeconds: rules.retryDelay(random))
        state.withLock { state in
            state.freshUntil = max(state.freshUntil, now.advanced(bySeconds: rules.retryInterval))
            state.refreshAt = retry
            state.fetch = nil
        }
        refreshed(false)
        return error
    }
}
