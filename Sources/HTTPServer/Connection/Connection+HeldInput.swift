import EventLoops

/// What a connection has received and no handler has yet: requests that have not arrived in full, and what follows one
/// that is being handled.
struct HeldInput {
    /// Fewer bytes do not count: the head of a request, or a small body in several pieces.
    static let least = 4096

    /// In the ``MemoryBudget``; nil while nothing counts.
    var slot: Slot?
    /// What counts there.
    var bytes = 0
}

/// The memory that a connection's input takes, for the ``MemoryBudget`` that all connections share.
extension Connection {
    /// Counts what is kept. Most requests arrive in one read, and then it is nothing.
    @inline(__always)
    func holdInput(at now: MonotonicTime) {
        let bytes = machine.heldBytes
        if bytes > HeldInput.least || heldInput.slot != nil { holdInput(bytes, at: now) }
    }

    @inline(never)
    private func holdInput(_ bytes: Int, at now: MonotonicTime) {
        guard bytes > HeldInput.least else { return releaseInput() }
        guard bytes != heldInput.bytes else { return }
        let slot = heldInput.slot ?? Slot(of: slot.network, at: now, holder: slotHolder)
        heldInput.slot = slot
        heldInput.bytes = bytes
        service.input.hold(bytes, for: slot, at: now)
    }

    func releaseInput() {
        guard let slot = heldInput.slot else { return }
        heldInput = HeldInput()
        service.input.release(slot)
    }

    /// The budget needs the memory for others.
    func giveUpInput() {
        releaseInput()
        service.limited(.incompleteRequests)
        // A request that a handler has is still answered.
        guard machine.isReading else { return machine.dropFollowingRequests() }
        run(machine.refuse(.incompleteRequests))
    }
}
