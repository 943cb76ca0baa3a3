import Primitives
import StorageModel
import Synchronization

/// How many one-time records of one kind this process has in the store, such as redirect sign-ins under way. Each is a
/// row until it is taken or expires, and no API key is needed to make one: so their number has a limit, and the subnets
/// that make them share it.
///
/// A subnet is a network of addresses as one holder has it (`IPAddress.subnet`). When the limit is reached, a record
/// takes the place of the oldest one of the subnet that has most. So a subnet that floods the server loses its own
/// records, and another subnet's are neither refused nor lost.
final class OneTimeRecordQuota: Sendable {
    /// The bytes of a row that count as one. A longer row counts as several.
    static let unit = 600
    /// The most handles of one ``unverified(beforeAdding:)``.
    static let batch = 50
    /// How old a record is before the store is asked about it, and how often the store is asked about all. It is more
    /// than any write takes, so that a record that is about to be stored is not taken for one that came back.
    private static let verification = Duration.seconds(60)

    private let maximum: Int
    private let lifetime: Duration
    private let uptime: Uptime
    private let state = Mutex((table: OneTimeRecordTable(), refused: UInt64(0), displaced: UInt64(0)))

    /// - Parameters:
    ///   - maximum: How many rows of ``unit`` bytes there may be.
    ///   - lifetime: Of a record that is not taken.
    ///   - uptime: Not the wall clock: after one that was set back, records would count for as long as it was ahead.
    init(maximum: Int, lifetime: Duration, uptime: Uptime) {
        self.maximum = max(1, maximum)
        self.lifetime = lifetime
        self.uptime = uptime
    }

    var count: Int { state.withLock { $0.table.count } }

    /// Since the process started: records that were not made, because all places were taken, and records that gave way
    /// to others.
    var statistics: (refused: UInt64, displaced: UInt64) { state.withLock { ($0.refused, $0.displaced) } }

    /// Counts a record. One that is counted already stays as it is.
    /// - Parameters:
    ///   - subnet: Nil if the client's address is not known; all such clients are one subnet.
    ///   - bytes: The length of its row.
    /// - Returns: The records that it takes the place of, which shall be removed from the store, and whether it was
    ///   not counted yet. Nil if it is refused: all places are taken, and no subnet has more than this one would have.
    func admit(
        _ handle: TokenHash, of subnet: IPAddress?, bytes: Int
    ) -> (evicted: [TokenHash], isNew: Bool)? {
        let now = uptime.elapsed()
        let weight = weight(of: bytes)
        return state.withLock { state in
            state.table.removeExpired(at: now)
            guard !state.table.contains(handle) else { return ([], false) }
            guard let evicted = state.table.makeRoom(for: weight, of: subnet, maximum: maximum) else {
                state.refused += 1
                return nil
            }
            state.displaced += UInt64(evicted.count)
            state.table.add(.init(handle: handle, subnet: subnet, weight: weight, expiresAt: now + lifetime))
            return (evicted, true)
        }
    }

    /// Counts a record no longer: it was taken, or it was not stored.
    func end(_ handle: TokenHash) { state.withLock { $0.table.remove(handle) } }

    /// The oldest records about which the store is to be asked before another one is counted, because another instance
    /// may have taken them. Those that the store does not have are to be ended.
    /// - Returns: At most ``batch`` handles; none if there is room, or if the store was asked about all within a
    ///   minute.
    func unverified(beforeAdding bytes: Int) -> [TokenHash] {
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

/// One-time records by age, by subnet and by handle. Every operation takes constant time on average, however many there
/// are.
struct OneTimeRecordTable {
    struct Entry {
        let handle: TokenHash
        let subnet: IPAddress?
        let weight: Int
        /// By the uptime.
        let expiresAt: Duration
    }

    private struct Subnet {
        var weight = 0
        /// The numbers of its records, oldest first, also of some that were removed.
        var numbers: ArraySlice<UInt64> = []
    }

    private var entries: [UInt64: Entry] = [:]
    private var numbers: [TokenHash: UInt64] = [:]
    private var subnets: [IPAddress?: Subnet] = [:]
    private var subnetsByWeight: [Int: Set<IPAddress?>] = [:]
    /// No record has a lower number.
    private var first: UInt64 = 0
    private var next: UInt64 = 0
    /// The number of the next record to ask the store about, and when the store was asked about the first one.
    private var nextUnverified = UInt64.max
    private var verifiedAt: Duration?
    private(set) var weight = 0
    /// The weight of the subnet that has most.
    private var heaviest = 0

    var count: Int { entries.count }

    func contains(_ handle: TokenHash) -> Bool { numbers[handle] != nil }

    private func weight(of subnet: IPAddress?) -> Int { subnets[subnet]?.weight ?? 0 }

    private var heaviestSubnet: IPAddress?? { subnetsByWeight[heaviest]?.first }

    /// Removes records until another one fits.
    /// - Returns: The removed ones; nil if there is none that has to give way.
    mutating func makeRoom(for weight: Int, of subnet: IPAddress?, maximum: Int) -> [TokenHash]? {
        var evicted: [TokenHash] = []
        while self.weight + weight > maximum {
            // Another subnet loses only if it has more even after that, so that equals do not displace each other.
            let own = self.weight(of: subnet)
            let othersHaveMore = heaviest > (evicted.isEmpty ? own + weight : own)
            let loser: IPAddress?
            if othersHaveMore, let heaviestSubnet {
                loser = heaviestSubnet
            } else if own > 0 {
                loser = subnet
            } else {
                return nil
            }
            guard let handle = removeOldest(of: loser) else { return nil }
            evicted.append(handle)
        }
        return evicted
    }

    /// The next oldest records to ask the store about.
    /// - Parameters:
    ///   - end: Later ones are too young.
    ///   - interval: How often the store is asked about all.
    mutating func unverified(
        _ count: Int, expiringBy end: Duration, at now: Duration, every interval: Duration
    ) -> [TokenHash] {
        var handles: [TokenHash] = []
        // Bounded, because many of these numbers may be gone.
        for _ in 0..<10_000 {
            nextUnverified = max(nextUnverified, first)
            let entry = entries[nextUnverified]
            let isAtEnd = nextUnverified >= next || entry.map { $0.expiresAt > end } ?? false
            if isAtEnd {
                guard handles.isEmpty, verifiedAt.map({ now - $0 >= interval }) ?? true, let oldest = entries[first],
                    oldest.expiresAt <= end
                else { break }
                (nextUnverified, verifiedAt) = (first, now)
                continue
            }
            if let entry { handles.append(entry.handle) }
            nextUnverified += 1
            if handles.count == count { break }
        }
        return handles
    }

    mutating func add(_ entry: Entry) {
        entries[next] = entry
        numbers[entry.handle] = next
        var subnet = subnets[entry.subnet] ?? Subnet()
        if subnet.numbers.count > 2 * subnet.weight + 32 {
            subnet.numbers = ArraySlice(subnet.numbers.filter { entries[$0] != nil })
        }
        subnet.numbers.append(next)
        subnets[entry.subnet] = subnet
        next += 1
        change(entry.subnet, by: entry.weight)
    }

    mutating func remove(_ handle: TokenHash) {
        guard let number = numbers[handle] else { return }
        remove(number)
    }

    mutating func removeExpired(at now: Duration) {
        // All have the same lifetime, so that the oldest expires first.
        while first < next {
            if let entry = entries[first] {
                guard entry.expiresAt <= now else { return }
                remove(first)
            }
            first += 1
        }
    }

    private mutating func removeOldest(of subnet: IPAddress?) -> TokenHash? {
        while let number = subnets[subnet]?.numbers.popFirst() {
            guard let handle = entries[number]?.handle else { continue }
            remove(number)
            return handle
        }
        return nil
    }

    private mutating func remove(_ number: UInt64) {
        guard let entry = entries.removeValue(forKey: number) else { return }
        numbers[entry.handle] = nil
        change(entry.subnet, by: -entry.weight)
    }

    private mutating func change(_ subnet: IPAddress?, by difference: Int) {
        let former = weight(of: subnet)
        let new = former + difference
        weight += difference
        subnets[subnet]?.weight = new
        if new == 0 { subnets[subnet] = nil }
        subnetsByWeight[former]?.remove(subnet)
        if subnetsByWeight[former]?.isEmpty == true { subnetsByWeight[former] = nil }
        if new > 0 { subnetsByWeight[new, default: []].insert(subnet) }
        heaviest = max(heaviest, new)
        while heaviest > 0, subnetsByWeight[heaviest] == nil { heaviest -= 1 }
    }
}
