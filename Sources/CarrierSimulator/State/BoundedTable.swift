/// Values by key, the oldest of which gives way when there are too many.
struct BoundedTable<Value: Sendable>: Sendable {
    private let capacity: Int
    private var values: [String: Value] = [:]
    /// Keys in the order they came, as a ring once the table is full.
    private var keys: [String] = []
    private var oldest = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    var count: Int { values.count }

    /// The values, oldest first.
    var all: [Value] {
        (keys[oldest...] + keys[..<oldest]).compactMap { values[$0] }
    }

    func keys(where isOne: (Value) -> Bool) -> [String] { values.filter { isOne($0.value) }.map(\.key) }

    subscript(key: String) -> Value? { values[key] }

    /// Changes the value of a key that is there.
    mutating func update(_ key: String, _ value: Value) {
        if values[key] != nil { values[key] = value }
    }

    /// Changes all values.
    mutating func updateAll(_ change: (inout Value) -> Void) {
        for key in values.keys {
            guard var value = values[key] else { continue }
            change(&value)
            values[key] = value
        }
    }

    /// Adds a value under a new key, or replaces that of a key which is there.
    mutating func insert(_ key: String, _ value: Value) {
        guard values.updateValue(value, forKey: key) == nil else { return }
        guard keys.count == capacity else { return keys.append(key) }
        values[keys[oldest]] = nil
        keys[oldest] = key
        oldest = (oldest + 1) % capacity
    }
}
