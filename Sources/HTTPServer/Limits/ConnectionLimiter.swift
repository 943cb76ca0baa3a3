package import EventLoops
package import Primitives
import Synchronization

/// Limits the open connections, in total and by network, and reports when the last one is closed.
package final class ConnectionLimiter: Sendable {
    private struct State {
        /// With those that gave up their slots and are not closed yet.
        var total = 0
        var accepted: UInt64 = 0
        var slots: SlotTable
        /// Those of `slots` by address.
        var byAddress: [IPAddress: Int] = [:]
        var reserve: SlotTable
        var waitingForNone: [@Sendable () -> Void] = []
    }

    package enum Admission {
        case accept
        /// It got one of the slots kept for probes: respond to anything else with the error, and close.
        case restrict(RequestError)
        /// Close at once; it was not counted.
        case drop
    }

    /// Connections beyond the limits that get a response.
    package static let reservedSlots = 128
    /// A probe needs less. Longer, a flood of new connections would keep all these slots.
    private static let probePatience = Duration.milliseconds(50)
    /// Connections whose slots were given to others, and which their loops have not closed yet.
    private static let closingAtOnce = 1024

    private let limits: ServerLimits
    private let state: Mutex<State>

    package init(limits: ServerLimits) {
        self.limits = limits
        state = Mutex(
            State(
                slots: SlotTable(maximum: limits.connections),
                reserve: SlotTable(maximum: ConnectionLimiter.reservedSlots)))
    }

    /// Gives a slot to a new connection, perhaps another one's.
    package func add(_ slot: Slot, of peer: IPAddress?, at now: MonotonicTime) -> Admission {
        let (admission, room) = state.withLock { state in admit(slot, of: peer, at: now, &state) }
        if case .replacing(let other) = room { other.evict() }
        return admission
    }

    private func admit(
        _ slot: Slot, of peer: IPAddress?, at now: MonotonicTime, _ state: inout State
    ) -> (Admission, SlotTable.Room) {
        let most = limits.connections + ConnectionLimiter.reservedSlots + ConnectionLimiter.closingAtOnce
        guard state.total < most else { return (.drop, .none) }
        let refusal: RequestError
        let address = peer?.network
        if let share = share(of: peer), let address, state.byAddress[address, default: 0] >= share {
            refusal = .tooManyConnectionsOfAddress
        } else {
            let room = state.slots.add(slot, patience: limits.patience, at: now)
            if case .none = room {
                refusal = .tooManyConnections
            } else {
                slot.address = address
                if let address { state.byAddress[address, default: 0] += 1 }
                state.total += 1
                state.accepted += 1
                return (.accept, room)
            }
        }
        let room = state.reserve.add(slot, patience: ConnectionLimiter.probePatience, at: now)
        if case .none = room { return (.drop, .none) }
        state.total += 1
        return (.restrict(refusal), room)
    }

    private func share(of peer: IPAddress?) -> Int? {
        guard let share = limits.connectionsPerAddress else { return nil }
        guard let peer, limits.addressesWithoutShare.contains(where: { $0.contains(peer) }) else { return share }
        return nil
    }

    /// A connection is closed.
    /// - Parameter isRestricted: Whether it got one of the slots kept for probes.
    package func remove(_ slot: Slot, isRestricted: Bool) {
        let calls = state.withLock { state in
            state.total -= 1
            if isRestricted { state.reserve.remove(slot) } else { state.slots.remove(slot) }
            if let address = slot.address, let count = state.byAddress[address] {
                state.byAddress[address] = count > 1 ? count - 1 : nil
                slot.address = nil
            }
            guard state.total == 0 else { return [@Sendable () -> Void]() }
            defer { state.waitingForNone = [] }
            return state.waitingForNone
        }
        for call in calls { call() }
    }

    package var total: Int { state.withLock { $0.total } }

    func write(to statistics: inout ServerStatistics) {
        state.withLock { state in
            statistics.connections = state.total
            statistics.accepted = state.accepted
        }
    }

    /// Calls back once there is no connection, perhaps at once.
    package func whenNone(_ call: @escaping @Sendable () -> Void) {
        let isNone = state.withLock { state in
            if state.total > 0 { state.waitingForNone.append(call) }
            return state.total == 0
        }
        if isNone { call() }
    }
}
