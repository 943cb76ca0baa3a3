import Primitives

/// How long a fetched document is used: fresh at first, then stale if it cannot be fetched again, then not at all.
struct Freshness: Sendable {
    /// When the document was fetched.
    let fetchedAt: Timestamp
    /// When the document was fetched, or a later fetch failed.
    private var since: Timestamp
    /// No new fetch is needed before.
    private(set) var freshUntil: Timestamp
    /// The document must not be used after.
    let usableUntil: Timestamp
    /// When a background refresh is due.
    private(set) var refreshAt: Timestamp
    /// Whether the document was needed since it was fetched. What is not in use is not refreshed.
    var isInUse = false

    init(_ response: OutboundResponse, at now: Timestamp, rules: CacheRules, random: RandomSource) {
        let lifetime = rules.lifetime(cacheControl: response.cacheControl)
        fetchedAt = now
        since = now
        freshUntil = now.advanced(bySeconds: lifetime)
        usableUntil = freshUntil.advanced(bySeconds: rules.staleLifetime)
        refreshAt = now.advanced(bySeconds: rules.refreshDelay(of: lifetime, random))
    }

    /// Whether no new fetch is needed. After a clock that was set back the document is not fresh: else it would be for
    /// as long as the clock was ahead.
    func isFresh(at now: Timestamp) -> Bool { now < freshUntil && !wasSetBack(now) }

    /// Whether the document is in use and old enough to be fetched again before its time.
    func isRefreshDue(at now: Timestamp) -> Bool {
        isInUse && (refreshAt <= now || wasSetBack(now)) && now < usableUntil
    }

    /// Whether the clock shows an earlier time than it did. Clocks are set by seconds all the time.
    private func wasSetBack(_ now: Timestamp) -> Bool { now < since.advanced(bySeconds: -CacheRules.clockTolerance) }

    /// After a failed fetch: the document serves on for a while without another try, so that no sign-in waits for a
    /// provider that just failed.
    mutating func postpone(at now: Timestamp, rules: CacheRules, random: RandomSource) {
        since = now
        freshUntil = max(freshUntil, now.advanced(bySeconds: rules.retryInterval))
        refreshAt = now.advanced(bySeconds: rules.retryDelay(random))
    }

    /// Makes the document stale at a time, if it would be fresh for longer.
    mutating func limit(to time: Timestamp) { freshUntil = min(freshUntil, time) }
}
