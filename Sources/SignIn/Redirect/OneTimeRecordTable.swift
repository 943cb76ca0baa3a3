import Primitives
import StorageModel

/// One-time records by age, by subnet and by handle. Every operation takes constant time on average, however many there
/// are.
///
/// It is not the HTTP server's `SlotTable`: records expire, and one may displace several.
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
        var count = 0
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
        subnet.count += 1
        if subnet.numbers.count > 2 * subnet.count + 32 {
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
        subnets[entry.subnet]?.count -= 1
        change(entry.subnet, by: -entry.weight)
    }

    private mutating func change(_ subnet: IPAddress?, by difference: Int) {
        let former = weight(of: subnet)
        let new = former + difference
        weight += difference
        subnets[subnet]?.weight = new
        if subnets[subnet]?.count == 0 { subnets[subnet] = nil }
        subnetsByWeight[former]?.remove(subnet)
        if subnetsByWeight[former]?.isEmpty == true { subnetsByWeight[former] = nil }
        if new > 0 { subnetsByWeight[new, default: []].insert(subnet) }
        heaviest = max(heaviest, new)
        while heaviest > 0, subnetsByWeight[heaviest] == nil { heaviest -= 1 }
    }
}
