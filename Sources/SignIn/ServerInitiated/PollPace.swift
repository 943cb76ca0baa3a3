import Primitives
import StorageModel
import Synchronization

/// Lets each server-initiated sign-in be asked about once a second.
final class PollPace: Sendable {
    static let interval = Duration.seconds(1)

    private let uptime: Uptime
    private let polls: Mutex<GenerationalCache<TokenHash, Duration>>

    /// - Parameter capacity: Of how many sign-ins the last poll is remembered.
    init(uptime: Uptime, capacity: Int = 65_536) {
        self.uptime = uptime
        polls = Mutex(GenerationalCache(capacity: capacity))
    }

    /// Whether it may be asked now; that it was is remembered. One that is asked too soon does not wait longer for it.
    func admits(_ handle: TokenHash) -> Bool {
        let now = uptime.elapsed()
        return polls.withLock { polls in
            if let last = polls[handle], now - last < Self.interval { return false }
            polls.put(now, for: handle)
            return true
        }
    }
}
