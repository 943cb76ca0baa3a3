package import Primitives
package import StorageModel
import Synchronization

/// The redirect sign-ins that this process has started and that have not come back. Each is a row in the store until it
/// comes back or expires, and a start needs no API key: so their number has a limit, and the subnets that start them
/// share it.
///
/// A subnet is a network of addresses as one holder has it (`IPAddress.subnet`). When the limit is reached, a start
/// takes the place of the oldest one of the subnet that has most. So a subnet that floods the server loses its own
/// starts, and another subnet's are neither refused nor lost.
package final class PendingStarts: Sendable {
    package enum Admission: Sendable, Hashable {
        /// In place of these, which shall be removed from the store.
        case admitted(insteadOf: [TokenHash])
        /// All places are taken, and no subnet has more than this one would have.
        case refused
    }

    /// The bytes of a row that count as one. A longer row counts as several.
    package static let unit = 600

    private let maximum: Int
    private let lifetime: Duration
    private let uptime: Uptime
    private let table = Mutex(PendingStartTable())

    /// - Parameters:
    ///   - maximum: How many rows of ``unit`` bytes may be pending.
    ///   - lifetime: Of a start that does not come back.
    ///   - uptime: Not the wall clock: after one that was set back, starts would count for as long as it was ahead.
    package init(maximum: Int, lifetime: Duration, uptime: Uptime) {
        self.maximum = max(1, maximum)
        self.lifetime = lifetime
        self.uptime = uptime
    }

    package var count: Int { table.withLock { $0.count } }

    /// Counts a start.
    /// - Parameters:
    ///   - subnet: Nil if the client's address is not known; all such clients are one subnet.
    ///   - bytes: The length of its row.
    package func admit(_ handle: TokenHash, of subnet: IPAddress?, bytes: Int) -> Admission {
        let now = uptime.elapsed()
        let weight = min(max(1, (bytes + Self.unit - 1) / Self.unit), maximum)
        return table.withLock { table in
            table.removeExpired(at: now)
            var evicted: [TokenHash] = []
            while table.weight + weight > maximum {
                // Another subnet loses only if it has more even after that, so that equals do not displace each other.
                let own = table.weight(of: subnet)
                let othersHaveMore = table.heaviest > (evicted.isEmpty ? own + weight : own)
                let loser: IPAddress?
                if othersHaveMore, let heaviest = table.heaviestSubnet {
                    loser = heaviest
                } else if own > 0 {
                    loser = subnet
                } else {
                    return .refused
                }
                guard let handle = table.removeOldest(of: loser) else { return .refused }
                evicted.append(handle)
            }
            table.add(.init(handle: handle, subnet: subnet, weight: weight, expiresAt: now + lifetime))
            return .admitted(insteadOf: evicted)
        }
    }

    /// Forgets a start that came back, or that was not stored.
    package func end(_ handle: TokenHash) { table.withLock { $0.remove(handle) } }
}

/// Starts by age, by subnet and by handle. Every operation takes constant time on average, however many there are.
///
/// It is not the HTTP server's `SlotTable`: starts expire, and one may displace several.
private struct PendingStartTable {
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
        /// The numbers of its starts, oldest first, also of some that were removed.
        var numbers: ArraySlice<UInt64> = []
    }

    private var entries: [UInt64: Entry] = [:]
    private var numbers: [TokenHash: UInt64] = [:]
    private var subnets: [IPAddress?: Subnet] = [:]
    private var subnetsByWeight: [Int: Set<IPAddress?>] = [:]
    /// No start has a lower number.
    private var first: UInt64 = 0
    private var next: UInt64 = 0
    private(set) var weight = 0
    /// The weight of the subnet that has most.
    private(set) var heaviest = 0

    var count: Int { entries.count }

    func weight(of subnet: IPAddress?) -> Int { subnets[subnet]?.weight ?? 0 }

    var heaviestSubnet: IPAddress?? { subnetsByWeight[heaviest]?.first }

    mutating func add(_ entry: Entry) {
        remove(entry.handle)
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

    mutating func removeOldest(of subnet: IPAddress?) -> TokenHash? {
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
