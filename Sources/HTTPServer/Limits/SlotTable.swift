package import EventLoops
package import Primitives
import Synchronization

/// Slots by the networks that hold them. It decides who gives way when all are taken: of the network that holds the
/// most, the slot that has been idle for longest. So a network can only take slots from itself, however many
/// connections it opens, and each other network keeps what it has, up to an equal part.
///
/// Connections, TLS handshakes, unsent output and incomplete requests are limited by such a table each. It owns no
/// socket and reads no clock.
package struct SlotTable {
    final class Group: HeapElement {
        let network: IPAddress?
        var weight = 0
        var slots = IndexedHeap<Slot>()
        var heapIndex = 0

        init(_ network: IPAddress?) { self.network = network }

        /// The heaviest first; of equal ones, that with the slot that has been idle for longest.
        func precedes(_ other: Group) -> Bool {
            guard weight == other.weight, let slot = slots.first, let others = other.slots.first else {
                return weight > other.weight
            }
            return slot.precedes(others)
        }
    }

    package enum Room {
        case free
        /// For this one, which is no longer in the table.
        case replacing(Slot)
        /// No other network holds more, and no slot has been idle long enough.
        case none
    }

    /// At most so many slots are considered for eviction: some may have been busy since they were last ordered.
    private static let mostCandidates = 64

    package let maximum: Int
    /// Of all slots together.
    package private(set) var weight = 0
    private var groups: [IPAddress?: Group] = [:]
    private var byWeight = IndexedHeap<Group>()

    package init(maximum: Int) { self.maximum = maximum }

    package func weight(of network: IPAddress?) -> Int { groups[network]?.weight ?? 0 }

    /// Adds a slot, or changes its weight. The table may then be too heavy: see ``makeRoom(for:patience:at:)`` and
    /// ``removeHeaviest(at:)``.
    package mutating func put(_ slot: Slot, weight: Int = 1) {
        let group = slot.group ?? group(of: slot.network)
        let added = weight - slot.weight
        if slot.group == nil {
            slot.group = group
            group.slots.insert(slot)
        }
        slot.weight = weight
        group.weight += added
        self.weight += added
        byWeight.update(group)
    }

    /// Removes a slot; does nothing if it is not in the table.
    package mutating func remove(_ slot: Slot) {
        guard let group = slot.group else { return }
        slot.group = nil
        group.slots.remove(slot)
        group.weight -= slot.weight
        weight -= slot.weight
        slot.weight = 0
        if group.slots.isEmpty {
            byWeight.remove(group)
            groups[group.network] = nil
        } else {
            byWeight.update(group)
        }
    }

    /// Makes room for one more slot of a network. A slot of a network that would still hold as much as this one gives
    /// way at once; otherwise only one that has been idle for `patience`, because the exchange makes nothing fairer.
    package mutating func makeRoom(for network: IPAddress?, patience: Duration, at now: MonotonicTime) -> Room {
        guard weight >= maximum else { return .free }
        let own = weight(of: network)
        guard let (slot, since) = idlest(at: now, ofWeight: max(own, 1)), let group = slot.group,
            group.weight > own + 1 || since.advanced(by: patience) <= now
        else { return .none }
        remove(slot)
        return .replacing(slot)
    }

    /// Adds a slot if there is or can be room for it: see ``makeRoom(for:patience:at:)``.
    mutating func add(_ slot: Slot, patience: Duration, at now: MonotonicTime) -> Room {
        let room = makeRoom(for: slot.network, patience: patience, at: now)
        if case .none = room { return room }
        put(slot)
        return room
    }

    /// Removes the slot that has been idle for longest of the heaviest network; nil if there is none.
    package mutating func removeHeaviest(at now: MonotonicTime) -> Slot? {
        guard let (slot, _) = idlest(at: now, ofWeight: 1) else { return nil }
        remove(slot)
        return slot
    }

    /// The slot that has been idle for longest of the heaviest network; if all of its slots are busy, of the next one.
    /// - Parameter least: Lighter networks are not considered.
    private mutating func idlest(
        at now: MonotonicTime, ofWeight least: Int
    ) -> (slot: Slot, since: MonotonicTime)? {
        var working: [Group] = []
        defer { for group in working { byWeight.insert(group) } }
        var found: (slot: Slot, since: MonotonicTime)?
        for _ in 0..<SlotTable.mostCandidates {
            guard let group = byWeight.first, group.weight >= least, let slot = group.slots.first else { break }
            guard let since = slot.idleSince else {
                if slot.orderTime < now.nanoseconds {
                    reorder(slot, now.nanoseconds, in: group)
                } else {
                    byWeight.remove(group)
                    working.append(group)
                }
                continue
            }
            guard since.nanoseconds > slot.orderTime else { return (slot, since) }
            reorder(slot, since.nanoseconds, in: group)
            if found.map({ since < $0.since }) ?? true { found = (slot, since) }
        }
        return found
    }

    private mutating func reorder(_ slot: Slot, _ nanoseconds: UInt64, in group: Group) {
        slot.orderTime = nanoseconds
        group.slots.update(slot)
        byWeight.update(group)
    }

    private mutating func group(of network: IPAddress?) -> Group {
        if let group = groups[network] { return group }
        let group = Group(network)
        groups[network] = group
        byWeight.insert(group)
        return group
    }
}

/// Limits the handshakes in progress on all loops. At the limit, the oldest one of the network that has most makes room
/// for a new one, so that clients that begin handshakes and never continue them cannot lock others out.
package final class HandshakeLimit: Sendable {
    private let patience: Duration
    private let table: Mutex<SlotTable>

    /// - Parameter patience: Of equal networks, younger handshakes are not cut: their clients may be far away.
    package init(maximum: Int, patience: Duration = .seconds(1)) {
        self.patience = patience
        table = Mutex(SlotTable(maximum: maximum))
    }

    package var count: Int { table.withLock { $0.weight } }

    /// Counts a new handshake, perhaps in place of another one.
    /// - Returns: False if there is no room.
    package func enter(_ slot: Slot, at now: MonotonicTime) -> Bool {
        let room = table.withLock { $0.add(slot, patience: patience, at: now) }
        if case .replacing(let other) = room { other.evict() }
        return if case .none = room { false } else { true }
    }

    package func leave(_ slot: Slot) { table.withLock { $0.remove(slot) } }
}

/// Limits the memory that connections hold for clients that are slow: of output that they have not received, or of
/// requests that have not arrived in full. Beyond the limit, the network with most loses the connection that has held
/// some for longest, and so on.
///
/// Only connections whose sockets do not take everything at once, or do not bring it at once, come here.
package final class MemoryBudget: Sendable {
    private let table: Mutex<SlotTable>

    package init(maximum: Int) { table = Mutex(SlotTable(maximum: maximum)) }

    package var bytes: Int { table.withLock { $0.weight } }

    package func hold(_ bytes: Int, for slot: Slot, at now: MonotonicTime) {
        let cut = table.withLock { table in
            var cut: [Slot] = []
            table.put(slot, weight: bytes)
            guard table.weight > table.maximum else { return cut }
            // Some more than needed, so that the next bytes do not cut again.
            let goal = table.maximum - table.maximum / 8
            while table.weight > goal, let slot = table.removeHeaviest(at: now) { cut.append(slot) }
            return cut
        }
        for slot in cut { slot.evict() }
    }

    package func release(_ slot: Slot) { table.withLock { $0.remove(slot) } }
}
