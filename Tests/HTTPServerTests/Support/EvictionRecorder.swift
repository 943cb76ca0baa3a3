import EventLoops
import HTTPServer
import Primitives
import Synchronization

/// Makes slots with numbers, and notes which of them are evicted.
final class EvictionRecorder: SlotHolder {
    private struct State {
        var slots: [(number: Int, slot: Slot)] = []
        var numbers: [Int] = []
    }

    private let state = Mutex(State())

    /// The slots that were evicted, in this order.
    var numbers: [Int] { state.withLock { $0.numbers } }

    func slot(_ number: Int, of address: String = "10.0.0.1", at now: MonotonicTime) -> Slot {
        let slot = Slot(of: IPAddress(address)?.network, at: now, holder: self)
        state.withLock { $0.slots.append((number, slot)) }
        return slot
    }

    func number(of slot: Slot) -> Int? {
        state.withLock { $0.slots.first { $0.slot === slot }?.number }
    }

    func wasEvicted(from slot: Slot) {
        state.withLock { state in
            if let found = state.slots.first(where: { $0.slot === slot }) { state.numbers.append(found.number) }
        }
    }
}
