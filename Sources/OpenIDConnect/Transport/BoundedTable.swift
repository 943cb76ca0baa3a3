/// A dictionary of limited size: a value put into a full one takes the place of the one put in longest ago.
struct BoundedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacity: Int
    private var slots: [Key: (value: Value, order: UInt64)] = [:]
    private var nextOrder: UInt64 = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    subscript(key: Key) -> Value? { slots[key]?.value }

    var count: Int { slots.count }

    /// All that is in it, in no order.
    var entries: some Sequence<(key: Key, value: Value)> { slots.lazy.map { ($0.key, $0.value.value) } }

    /// Puts a value in, as the newest.
    mutating func put(_ value: Value, for key: Key) {
        if slots[key] == nil, slots.count >= capacity { removeOldest() }
        slots[key] = (value, nextOrder)
        nextOrder += 1
    }

    mutating func remove(_ key: Key) {
        slots[key] = nil
    }

    /// Looks at all: the table is full only where somebody fills it, and small even then.
    private mutating func removeOldest() {
        guard let oldest = slots.min(by: { $0.value.order < $1.value.order })?.key else { return }
        slots[oldest] = nil
    }
}
