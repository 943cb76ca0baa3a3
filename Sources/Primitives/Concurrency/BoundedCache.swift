/// A dictionary of limited size: when it is full, the oldest value gives way to a new one.
///
/// One type for every bounded table. They differ in two points, which are parameters:
/// - What a value's age counts from (``Age``). A cache drops what was put in longest ago. A record of something that
///   happened once must not live longer because it was changed since.
/// - Whether a value also expires (`lifetime`). Records that answer for a window of time do.
///
/// A lookup is that of a dictionary and changes nothing. A change takes constant time on the average of many. The
/// methods are inlinable, because other modules call them on hot paths and would otherwise not specialise them.
@usableFromInline
package struct BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// What the age of a value counts from.
    @usableFromInline
    package enum Age: Sendable {
        /// From when its key first came: a value that replaces it takes over its age.
        case insertion
        /// From when it was last put in: a value that replaces it is the newest.
        case update
    }

    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var value: Value
        @usableFromInline let since: Timestamp
        /// The entry's place in the order of age.
        @usableFromInline let number: UInt64

        @inlinable
        init(value: Value, since: Timestamp, number: UInt64) {
            (self.value, self.since, self.number) = (value, since, number)
        }
    }

    @usableFromInline let capacity: Int
    @usableFromInline let age: Age
    @usableFromInline let lifetime: Int64?
    @usableFromInline var values: [Key: Entry] = [:]
    /// Keys in the order of age, from `first` on. One whose entry has another number, or none, is passed over.
    @usableFromInline var order: [(key: Key, number: UInt64)] = []
    @usableFromInline var first = 0
    @usableFromInline var nextNumber: UInt64 = 0

    /// - Parameters:
    ///   - capacity: How many values are kept, 1 at least.
    ///   - lifetime: How long a value is kept, in seconds; nil for as long as there is room.
    @inlinable
    package init(capacity: Int, age: Age = .update, lifetime: Int64? = nil) {
        (self.capacity, self.age, self.lifetime) = (max(1, capacity), age, lifetime)
    }

    /// How many values there are, including expired ones that no later change has removed.
    @inlinable
    package var count: Int { values.count }

    /// The value of a key, whether or not it has expired.
    @inlinable
    package subscript(key: Key) -> Value? { values[key]?.value }

    /// The value of a key, unless it has expired.
    @inlinable
    package func value(for key: Key, at now: Timestamp) -> Value? {
        values[key].flatMap { isCurrent($0, at: now) ? $0.value : nil }
    }

    /// All values, the oldest first.
    package var entries: [(key: Key, value: Value)] {
        order[first...].compactMap { key, number in
            values[key].flatMap { $0.number == number ? (key, $0.value) : nil }
        }
    }

    /// Puts a value in, in place of the one that the key has.
    /// - Parameter now: Counts only where values expire.
    @inlinable
    package mutating func put(_ value: Value, for key: Key, at now: Timestamp = Timestamp(secondsSinceEpoch: 0)) {
        if lifetime != nil { removeOldest(expiredAt: now) }
        if age == .insertion, values[key] != nil {
            values[key]?.value = value
            return
        }
        values[key] = Entry(value: value, since: now, number: nextNumber)
        order.append((key, nextNumber))
        nextNumber += 1
        if values.count > capacity { removeOldest(expiredAt: nil) }
        // Twice the capacity, so that the cost is spread over as many changes.
        if order.count / 2 - 8 > capacity { compact() }
    }

    /// Removes the value of a key.
    @inlinable
    @discardableResult
    package mutating func remove(_ key: Key) -> Value? { values.removeValue(forKey: key)?.value }

    /// A clock that was set back by more than the lifetime makes a value old, too.
    @inlinable
    func isCurrent(_ entry: Entry, at now: Timestamp) -> Bool {
        guard let lifetime else { return true }
        return entry.since.advanced(bySeconds: -lifetime) <= now && now <= entry.since.advanced(bySeconds: lifetime)
    }

    /// Removes the values that have expired by a time, from the oldest on; the oldest value if there is no time.
    @inlinable
    mutating func removeOldest(expiredAt now: Timestamp?) {
        while first < order.count {
            let (key, number) = order[first]
            guard let entry = values[key], entry.number == number else {
                first += 1
                continue
            }
            if let now, isCurrent(entry, at: now) { return }
            values[key] = nil
            first += 1
            if now == nil { return }
        }
    }

    /// Drops what is passed over.
    @inlinable
    mutating func compact() {
        order = order[first...].filter { values[$0.key]?.number == $0.number }
        first = 0
    }
}
