import Primitives

// A change keeps the age of a value, because the simulator's tables count it from insertion.
extension BoundedCache where Key == String {
    /// The values, oldest first.
    var all: [Value] { entries.map(\.value) }

    func keys(where isOne: (Value) -> Bool) -> [String] { entries.filter { isOne($0.value) }.map(\.key) }

    /// Changes the value of an existing key.
    mutating func update(_ key: String, _ change: (inout Value) -> Void) {
        guard var value = self[key] else { return }
        change(&value)
        put(value, for: key)
    }

    /// Changes all values.
    mutating func updateAll(_ change: (inout Value) -> Void) {
        for (key, var value) in entries {
            change(&value)
            put(value, for: key)
        }
    }
}
