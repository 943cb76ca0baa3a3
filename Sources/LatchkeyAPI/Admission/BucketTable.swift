import Synchronization

/// A token bucket for each of many callers, in a fixed space: the generic cell rate algorithm, which needs one number a
/// bucket.
///
/// A hash maps a caller to a group of eight slots. If all are taken, the slot with the least debt is replaced, so that
/// callers at the limit stay known however many others come. Nothing is allocated after init.
final class BucketTable: Sendable {
    enum Verdict: Sendable, Hashable {
        /// This many more may come at once.
        case admitted(remaining: Int)
        /// The next one may come after this many seconds.
        case refused(retryAfter: Int)
    }

    private struct Slot {
        var caller: UInt64 = 0
        /// When the bucket is full again, in nanoseconds of the uptime.
        var fullAt: UInt64 = 0
    }

    private final class Shard: Sendable {
        let slots: Mutex<[Slot]>

        init(_ count: Int) { slots = Mutex([Slot](repeating: Slot(), count: count)) }
    }

    private static let groupSize = 8
    private static let shardCount = 8

    let quota: RequestLimits.Quota
    /// The name of the limit in refusals and metrics.
    let policy: String
    private let shards: [Shard]
    private let groupsPerShard: UInt64
    /// The time between requests at the steady rate, and the time that the burst covers, in nanoseconds.
    private let interval: UInt64
    private let room: UInt64

    /// - Parameter groups: Groups of eight slots in each of eight shards: 1 KiB of memory each.
    init(_ quota: RequestLimits.Quota, _ policy: String, groups: Int) {
        self.quota = quota
        self.policy = policy
        let count = UInt64(max(1, quota.count))
        room = UInt64(max(1, quota.seconds)) * 1_000_000_000
        interval = max(1, room / count)
        groupsPerShard = UInt64(max(1, groups))
        shards = (0..<Self.shardCount).map { _ in Shard(max(1, groups) * Self.groupSize) }
    }

    /// Takes one token from a caller's bucket.
    /// - Parameter caller: A hash that clients cannot predict.
    func take(_ caller: UInt64, at now: Duration) -> Verdict {
        let now = Self.nanoseconds(now)
        let shard = shards[Int(caller % UInt64(Self.shardCount))]
        let start = Int((caller >> 8) % groupsPerShard) * Self.groupSize
        return shard.slots.withLock { slots in
            var slot = start
            for index in start..<start + Self.groupSize {
                if slots[index].caller == caller, slots[index].fullAt != 0 {
                    slot = index
                    break
                }
                if slots[index].fullAt < slots[slot].fullAt { slot = index }
            }
            if slots[slot].caller != caller { slots[slot] = Slot(caller: caller, fullAt: 0) }
            let fullAt = max(slots[slot].fullAt, now) + interval
            guard fullAt - now <= room else {
                return .refused(retryAfter: Int((fullAt - now - room + 999_999_999) / 1_000_000_000))
            }
            slots[slot].fullAt = fullAt
            return .admitted(remaining: Int((room - (fullAt - now)) / interval))
        }
    }

    private static func nanoseconds(_ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        // Starts at 1: 0 marks a slot that was never taken.
        return UInt64(clamping: seconds) * 1_000_000_000 + UInt64(clamping: attoseconds / 1_000_000_000) + 1
    }
}
