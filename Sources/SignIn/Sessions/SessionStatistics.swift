import Synchronization

/// What has become of sessions since the process began.
public struct SessionStatistics: Sendable, Hashable {
    public var started: UInt64 = 0
    /// Refreshed by a token that was good; ``refreshedAgain`` counts those whose answer was sent once more.
    public var refreshed: UInt64 = 0
    public var refreshedAgain: UInt64 = 0
    /// Ended by their own token.
    public var signedOut: UInt64 = 0
    /// Ended by another session of the user's, or by a service.
    public var revoked: UInt64 = 0
    /// Ended because a spent refresh token was shown.
    public var reused: UInt64 = 0
    /// Ended because their provider said so.
    public var endedByProvider: UInt64 = 0
    /// Sessions that were looked for and found at hand, and those that the store was asked for.
    public var cacheHits: UInt64 = 0
    public var cacheMisses: UInt64 = 0

    public init() {}
}

/// Counts what becomes of sessions.
final class SessionCounts: Sendable {
    let started = Atomic<UInt64>(0)
    let refreshed = Atomic<UInt64>(0)
    let refreshedAgain = Atomic<UInt64>(0)
    let signedOut = Atomic<UInt64>(0)
    let revoked = Atomic<UInt64>(0)
    let reused = Atomic<UInt64>(0)
    let endedByProvider = Atomic<UInt64>(0)
}

extension Atomic where Value == UInt64 {
    borrowing func count(_ amount: Int = 1) {
        wrappingAdd(amount > 0 ? UInt64(amount) : 0, ordering: .relaxed)
    }
}

extension Sessions {
    public var statistics: SessionStatistics {
        var statistics = SessionStatistics()
        statistics.started = counts.started.load(ordering: .relaxed)
        statistics.refreshed = counts.refreshed.load(ordering: .relaxed)
        statistics.refreshedAgain = counts.refreshedAgain.load(ordering: .relaxed)
        statistics.signedOut = counts.signedOut.load(ordering: .relaxed)
        statistics.revoked = counts.revoked.load(ordering: .relaxed)
        statistics.reused = counts.reused.load(ordering: .relaxed)
        statistics.endedByProvider = counts.endedByProvider.load(ordering: .relaxed)
        (statistics.cacheHits, statistics.cacheMisses) = cache.looks
        return statistics
    }
}
