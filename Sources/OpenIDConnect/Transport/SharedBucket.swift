import Primitives
import Synchronization

/// A ``TokenBucket`` that many take from.
final class SharedBucket: Sendable {
    private let bucket: Mutex<TokenBucket>

    init(capacity: Int64, secondsPerToken: Int64, now: Timestamp) {
        bucket = Mutex(TokenBucket(capacity: capacity, secondsPerToken: secondsPerToken, now: now))
    }

    func take(now: Timestamp) -> Bool { bucket.withLock { $0.take(now: now) } }
}
