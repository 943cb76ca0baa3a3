import Primitives
import StorageModel
import Synchronization

/// Admits one poll a second for each backchannel authentication.
final class PollPace: Sendable {
    static let interval = Duration.seconds(1)

    private let uptime: Uptime
    private let polls: Mutex<BoundedCache<TokenHash, Duration>>

    /// - Parameter capacity: How many sign-ins' last polls are remembered.
    init(uptime: Uptime, capacity: Int = 65_536) {
        self.uptime = uptime
        polls = Mutex(BoundedCache(capacity: capacity))
    }

    /// Whether a poll is admitted now. A refused poll does not prolong the wait.
    func admits(_ handle: TokenHash) -> Bool {
        let now = uptime.elapsed()
        return polls.withLock { polls in
            if let last = polls[handle], now - last < Self.interval { return false }
            polls.put(now, for: handle)
            return true
        }
    }
}
