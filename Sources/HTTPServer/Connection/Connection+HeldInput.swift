import EventLoops

/// What a connection holds of a ``MemoryBudget``, which all connections share.
struct BudgetShare {
    /// Nil while nothing counts.
    private(set) var slot: Slot?
    private var bytes = 0

    mutating func hold(_ bytes: Int, of budget: MemoryBudget, for connection: Connection, at now: MonotonicTime) {
        guard bytes != self.bytes else { return }
        guard bytes > 0 else { return release(to: budget) }
        let slot = slot ?? Slot(of: connection.slot.network, at: now, holder: connection.slotHolder)
        self.slot = slot
        self.bytes = bytes
        budget.hold(bytes, for: slot, at: now)
    }

    mutating func release(to budget: MemoryBudget) {
        guard let slot else { return }
        self = BudgetShare()
        budget.release(slot)
    }
}

/// What a connection has received and no handler has yet: requests that have not arrived in full, and what follows one
/// that is being handled.
extension Connection {
    /// Fewer bytes do not count: the head of a request, or a small body in several pieces.
    private static let least = 4096

    /// Counts what is kept. Most requests arrive in one read, and then it is nothing.
    @inline(__always)
    func holdInput(at now: MonotonicTime) {
        let bytes = machine.heldBytes
        if bytes > Connection.least || heldInput.slot != nil { holdInput(bytes, at: now) }
    }

    @inline(never)
    private func holdInput(_ bytes: Int, at now: MonotonicTime) {
        heldInput.hold(bytes > Connection.least ? bytes : 0, of: service.input, for: self, at: now)
    }

    /// The budget needs the memory for others.
    func giveUpInput() {
        heldInput.release(to: service.input)
        service.limited(.incompleteRequests)
        // A request that a handler has is still answered.
        guard machine.isReading else { return machine.dropFollowingRequests() }
        run(machine.refuse(.incompleteRequests))
    }
}
