package import EventLoops
package import Primitives
import Synchronization

/// What holds a ``Slot``, and gives it up for another one.
package protocol SlotHolder: AnyObject, Sendable {
    /// The slot was taken away. On any thread.
    func wasEvicted(from slot: Slot)
}

/// A part of something limited that a connection holds, such as one of the open connections.
///
/// Sendable without the compiler's check: the variables are used by the table only, whose owner locks it.
package final class Slot: HeapElement, @unchecked Sendable {
    /// The addresses that one holder often has, with the address of the connection's peer (`IPAddress.subnet`).
    /// Addresses alone do not do: who has a /48 would outnumber all users behind one address of a carrier.
    package let network: IPAddress?
    /// The peer's address in ``ConnectionLimiter``, which counts by address, too.
    var address: IPAddress?
    private let holder: any SlotHolder
    /// Nanoseconds of the time since which the holder has done nothing for its peer; `busy` while it does something.
    private let idleTime: Atomic<UInt64>
    private static let busy = UInt64.max

    var group: SlotTable.Group?
    var weight = 0
    /// The time since which it was idle when the table last ordered it.
    var orderTime: UInt64
    var heapIndex = 0

    package init(of network: IPAddress?, at now: MonotonicTime, holder: any SlotHolder) {
        self.network = network
        self.holder = holder
        orderTime = now.nanoseconds
        idleTime = Atomic(now.nanoseconds)
    }

    func another(at now: MonotonicTime) -> Slot { Slot(of: network, at: now, holder: holder) }

    /// The holder is busy for its peer: the slot is not taken away.
    package func markBusy() { idleTime.store(Slot.busy, ordering: .relaxed) }

    package func markIdle(at now: MonotonicTime) { idleTime.store(now.nanoseconds, ordering: .relaxed) }

    /// Nil while the holder is busy.
    var idleSince: MonotonicTime? {
        let nanoseconds = idleTime.load(ordering: .relaxed)
        return nanoseconds == Slot.busy ? nil : MonotonicTime(nanoseconds: nanoseconds)
    }

    package func evict() { holder.wasEvicted(from: self) }

    func precedes(_ other: Slot) -> Bool { orderTime < other.orderTime }
}
