import Synchronization

/// Counts of session events since the process started.
package struct SessionStatistics: Sendable, Hashable {
    package var started: UInt64 = 0
    /// Refreshed with a live token; ``refreshedAgain`` counts repeated exchanges.
    package var refreshed: UInt64 = 0
    package var refreshedAgain: UInt64 = 0
    /// Ended with their own token.
    package var signedOut: UInt64 = 0
    /// Ended by the user from another session, or by a service.
    package var revoked: UInt64 = 0
    /// Ended because a used refresh token was presented again.
    package var reused: UInt64 = 0
    /// Ended by their provider.
    package var endedByProvider: UInt64 = 0
    /// Sessions found in the cache, and those read from the store.
    package var cacheHits: UInt64 = 0
    package var cacheMisses: UInt64 = 0

    package init() {}
}

/// Counts session events.
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
    package var statistics: SessionStatistics {
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
