package import EventLoops
import Primitives
import Synchronization

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
        let room = table.withLock { table in
            let room = table.makeRoom(for: slot.network, patience: patience, at: now)
            if case .none = room { return room }
            table.put(slot)
            return room
        }
        if case .replacing(let other) = room { other.evict() }
        if case .none = room { return false }
        return true
    }

    /// A handshake is over.
    package func leave(_ slot: Slot) { table.withLock { $0.remove(slot) } }
}
