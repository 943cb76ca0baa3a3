package import Primitives
package import StorageModel
import Synchronization

/// How many one-time records of one kind this process has in the store, such as redirect sign-ins under way. Each is a
/// row until it is taken or expires, and no API key is needed to make one: so their number has a limit, and the subnets
/// that make them share it.
///
/// A subnet is a network of addresses as one holder has it (`IPAddress.subnet`). When the limit is reached, a record
/// takes the place of the oldest one of the subnet that has most. So a subnet that floods the server loses its own
/// records, and another subnet's are neither refused nor lost.
package final class OneTimeRecordQuota: Sendable {
    package enum Admission: Sendable, Hashable {
        /// In place of these, which shall be removed from the store.
        case admitted(insteadOf: [TokenHash])
        /// All places are taken, and no subnet has more than this one would have.
        case refused
    }

    /// Counts since the process started.
    package struct Statistics: Sendable, Hashable {
        /// Records that were not made, because all places were taken.
        package fileprivate(set) var refused: UInt64 = 0
        /// Records that gave way to others.
        package fileprivate(set) var displaced: UInt64 = 0
    }

    /// The bytes of a row that count as one. A longer row counts as several.
    package static let unit = 600
    /// The most handles of one ``unverified(beforeAdding:)``.
    package static let batch = 50
    /// How old a record is before the store is asked about it, and how often the store is asked about all. It is more
    /// than any write takes, so that a record that is about to be stored is not taken for one that came back.
    private static let verification = Duration.seconds(60)

    private let maximum: Int
    private let lifetime: Duration
    private let uptime: Uptime
    private let state = Mutex((table: OneTimeRecordTable(), statistics: Statistics()))

    /// - Parameters:
    ///   - maximum: How many rows of ``unit`` bytes there may be.
    ///   - lifetime: Of a record that is not taken.
    ///   - uptime: Not the wall clock: after one that was set back, records would count for as long as it was ahead.
    package init(maximum: Int, lifetime: Duration, uptime: Uptime) {
        self.maximum = max(1, maximum)
        self.lifetime = lifetime
        self.uptime = uptime
    }

    package var count: Int { state.withLock { $0.table.count } }

    package var statistics: Statistics { state.withLock { $0.statistics } }

    /// Counts a record. One that is counted already stays as it is.
    /// - Parameters:
    ///   - subnet: Nil if the client's address is not known; all such clients are one subnet.
    ///   - bytes: The length of its row.
    package func admit(_ handle: TokenHash, of subnet: IPAddress?, bytes: Int) -> Admission {
        let now = uptime.elapsed()
        let weight = weight(of: bytes)
        return state.withLock { state in
            state.table.removeExpired(at: now)
            guard !state.table.contains(handle) else { return .admitted(insteadOf: []) }
            guard let evicted = state.table.makeRoom(for: weight, of: subnet, maximum: maximum) else {
                state.statistics.refused += 1
                return .refused
            }
            state.statistics.displaced += UInt64(evicted.count)
            state.table.add(.init(handle: handle, subnet: subnet, weight: weight, expiresAt: now + lifetime))
            return .admitted(insteadOf: evicted)
        }
    }

    /// Counts a record no longer: it was taken, or it was not stored.
    package func end(_ handle: TokenHash) { state.withLock { $0.table.remove(handle) } }

    /// The oldest records about which the store is to be asked before another one is counted, because another instance
    /// may have taken them. Those that the store does not have are to be ended.
    /// - Returns: At most ``batch`` handles; none if there is room, or if the store was asked about all within a
    ///   minute.
    package func unverified(beforeAdding bytes: Int) -> [TokenHash] {
        let now = uptime.elapsed()
        let weight = weight(of: bytes)
        return state.withLock { state in
            state.table.removeExpired(at: now)
            guard state.table.weight + weight > maximum else { return [] }
            return state.table.unverified(
                Self.batch, expiringBy: now + lifetime - Self.verification, at: now, every: Self.verification)
        }
    }

    private func weight(of bytes: Int) -> Int { min(max(1, (bytes + Self.unit - 1) / Self.unit), maximum) }
}
