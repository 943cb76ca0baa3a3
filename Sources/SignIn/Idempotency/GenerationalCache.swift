/// A bounded dictionary that forgets what was not put in lately: when the young half is full it becomes the old half, and
/// what was in the old half goes.
package struct GenerationalCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let capacityOfOne: Int
    private var young: [Key: Value] = [:]
    private var old: [Key: Value] = [:]

    /// - Parameter capacity: The most values of both halves together.
    package init(capacity: Int) {
        capacityOfOne = max(1, capacity / 2)
    }

    package var count: Int { young.count + old.count }

    package subscript(key: Key) -> Value? { young[key] ?? old[key] }

    package mutating func put(_ value: Value, for key: Key) {
        if young.count >= capacityOfOne, young[key] == nil {
            old = young
            young = [:]
        }
        young[key] = value
    }

    package mutating func remove(_ key: Key) {
        young[key] = nil
        old[key] = nil
    }
}
