import EventLoops

/// What a connection holds of a ``MemoryBudget``, which all connections share.
struct BudgetShare {
    /// Nil while nothing counts.
    private(set) var slot: Slot?
    private var bytes = 0

    mutating func hold(_ bytes: Int, of budget: MemoryBudget, with other: Slot) {
        guard bytes != self.bytes else { return }
        guard bytes > 0 else { return release(to: budget) }
        let now = MonotonicTime.now()
        let slot = slot ?? other.another(at: now)
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
