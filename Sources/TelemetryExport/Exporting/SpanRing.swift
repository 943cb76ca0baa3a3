/// The spans that wait for an export, in their order; when it is full, a new one takes the place of the oldest.
struct SpanRing: Sendable {
    let capacity: Int
    private var slots: [SpanRecord] = []
    /// The place of the oldest.
    private var first = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    private(set) var count = 0

    /// - Returns: Whether a span was displaced.
    mutating func add(_ span: SpanRecord) -> Bool {
        guard count < capacity else {
            slots[first] = span
            first = (first + 1) % capacity
            return true
        }
        let place = (first + count) % capacity
        if place < slots.count { slots[place] = span } else { slots.append(span) }
        count += 1
        return false
    }

    /// Removes the oldest spans.
    mutating func take(atMost limit: Int) -> [SpanRecord] {
        let taken = (0..<min(limit, count)).map { slots[(first + $0) % capacity] }
        first = (first + taken.count) % capacity
        count -= taken.count
        // An empty ring keeps no span alive.
        if count == 0 {
            slots = []
            first = 0
        }
        return taken
    }
}
