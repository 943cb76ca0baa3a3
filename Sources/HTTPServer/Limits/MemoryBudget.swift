package import EventLoops
import Primitives
import Synchronization

/// Limits the memory that connections hold for clients that are slow: of output that they have not received, or of
/// requests that have not arrived in full. Beyond the limit, the network with most loses the connection that has held
/// some for longest, and so on.
///
/// Only connections whose sockets do not take everything at once, or do not bring it at once, come here.
package final class MemoryBudget: Sendable {
    private let table: Mutex<SlotTable>

    package init(maximum: Int) { table = Mutex(SlotTable(maximum: maximum)) }

    /// The bytes held now.
    package var bytes: Int { table.withLock { $0.weight } }

    /// A connection holds so many bytes now.
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

    /// A connection holds nothing any more.
    package func release(_ slot: Slot) { table.withLock { $0.remove(slot) } }
}
