/// Allows a burst of events, and then one in so many seconds.
package struct TokenBucket: Sendable {
    private let capacity: Int64
    private let secondsPerToken: Int64
    private var tokens: Int64
    private var lastRefill: Timestamp

    package init(capacity: Int64, secondsPerToken: Int64, now: Timestamp) {
        self.capacity = max(1, capacity)
        self.secondsPerToken = max(1, secondsPerToken)
        tokens = self.capacity
        lastRefill = now
    }

    /// Takes a token; false if there is none.
    package mutating func take(now: Timestamp) -> Bool {
        let elapsed = now.seconds(since: lastRefill)
        if elapsed < 0 {
            // The clock was set back: without this, no token would come until it catches up.
            lastRefill = now
        } else if elapsed >= secondsPerToken {
            let earned = elapsed / secondsPerToken
            tokens = min(capacity, tokens + min(earned, capacity))
            lastRefill = lastRefill.advanced(bySeconds: earned * secondsPerToken)
        }
        guard tokens > 0 else { return false }
        tokens -= 1
        return true
    }
}
