/// A dictionary of limited size: when it is full, the oldest values give way to a new one.
///
/// One type for every bounded table. They differ in three points, which are parameters:
/// - What a value's age counts from (``Age``). A cache drops what was put in longest ago. A record of something that
///   happened once must not live longer because it was changed since.
/// - Whether a value also expires (`lifetime`). Records that answer for a window of time do.
/// - What the capacity counts: values, unless they are put in with weights, such as their sizes in bytes.
///
/// A lookup is a dictionary's and changes nothing. A change takes constant time on the average of many. The
/// methods are inlinable, because other modules call them on hot paths and would otherwise not specialise them.
///
/// The values stand in a ring in the order of age, and a dictionary finds their places.
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
        @usableFromInline let key: Key
        @usableFromInline var value: Value
        @usableFromInline let since: Timestamp
        @usableFromInline let weight: Int

        @inlinable
        init(key: Key, value: Value, since: Timestamp, weight: Int) {
            (self.key, self.value, self.since, self.weight) = (key, value, since, weight)
        }
    }

    @usableFromInline package let capacity: Int
    @usableFromInline let age: Age
    @usableFromInline let lifetime: Int64?
    /// The number of values, including expired ones that no later change has removed.
    @inlinable package var count: Int { places.count }
    /// What these values weigh together.
    @usableFromInline package internal(set) var weight = 0
    /// Entries in the order of age; nil where one was removed, and where none has been put. Its size is a power of two.
    @usableFromInline var ring: [Entry?] = []
    /// The place of the oldest entry, and the number of places from there to the newest one.
    @usableFromInline var first = 0
    @usableFromInline var used = 0
    /// The entries' places in the ring.
    @usableFromInline var places: [Key: UInt32] = [:]

    /// - Parameters:
    ///   - capacity: What the kept values may weigh together, 1 at least.
    ///   - lifetime: How long a value is kept, in seconds; nil for as long as there is room.
    @inlinable
    package init(capacity: Int, age: Age = .update, lifetime: Int64? = nil) {
        (self.capacity, self.age, self.lifetime) = (max(1, capacity), age, lifetime)
    }

    /// The value of a key, whether or not it has expired.
    @inlinable
    package subscript(key: Key) -> Value? { places[key].flatMap { ring[Int($0)]?.value } }

    /// The value of a key, unless it has expired.
    @inlinable
    package func value(for key: Key, at now: Timestamp) -> Value? {
        guard let place = places[key], let since = ring[Int(place)]?.since, isCurrent(since, at: now) else {
            return nil
        }
        return ring[Int(place)]?.value
    }

    /// All values, the oldest first.
    package var entries: [(key: Key, value: Value)] {
        (0..<used).compactMap { offset in ring[place(offset)].map { ($0.key, $0.value) } }
    }

    /// Puts a value in, in place of the one that the key has.
    /// - Parameters:
    ///   - weight: At least 1. A value that weighs more than the capacity is not kept. One that replaces another and
    ///     takes over its age takes over its weight, too.
    ///   - now: Counts only where values expire.
    @inlinable
    package mutating func put(
        _ value: Value, for key: Key, weighing weight: Int = 1, at now: Timestamp = Timestamp(secondsSinceEpoch: 0)
    ) {
        removeExpired(at: now)
        if let place = places[key] {
            if age == .insertion {
                ring[Int(place)]?.value = value
                return
            }
            remove(key)
        }
        guard weight <= capacity else { return }
        while count > 0, self.weight + weight > capacity { removeOldest() }
        // If half of the places are of removed entries, these are enough.
        if used == ring.count { resize(to: count > ring.count / 2 ? 2 * ring.count : max(8, ring.count)) }
        places[key] = UInt32(place(used))
        ring[place(used)] = Entry(key: key, value: value, since: now, weight: weight)
        used += 1
        self.weight += weight
    }

    @inlinable
    @discardableResult
    package mutating func remove(_ key: Key) -> Value? {
        guard let place = places.removeValue(forKey: key), let removed = exchange(&ring[Int(place)], with: nil) else {
            return nil
        }
        weight -= removed.weight
        while used > 0, case nil = ring[first] { (first, used) = (self.place(1), used - 1) }
        return removed.value
    }

    package mutating func removeAll() { self = BoundedCache(capacity: capacity, age: age, lifetime: lifetime) }

    /// A clock that was set back by more than the lifetime makes a value old, too.
    @inlinable
    func isCurrent(_ since: Timestamp, at now: Timestamp) -> Bool {
        guard let lifetime else { return true }
        return since.advanced(bySeconds: -lifetime) <= now && now <= since.advanced(bySeconds: lifetime)
    }

    /// Removes the values that have expired, from the oldest on. Younger ones than `now` stay: it may be the time at
    /// which a read began that took long.
    @inlinable
    package mutating func removeExpired(at now: Timestamp) {
        guard let lifetime else { return }
        while count > 0, let since = ring[first]?.since, since.advanced(bySeconds: lifetime) < now { removeOldest() }
    }

    @inlinable
    package mutating func removeOldest() {
        if let key = ring[first]?.key { remove(key) }
    }

    // MARK: The ring

    @inlinable
    func place(_ offset: Int) -> Int { (first + offset) & (ring.count - 1) }

    /// Moves the entries to the start of a ring of another size, which has room for them.
    @inlinable
    mutating func resize(to size: Int) {
        let entries = (0..<used).compactMap { ring[place($0)] }
        ring = entries + [Entry?](repeating: nil, count: size - entries.count)
        (first, used) = (0, entries.count)
        for (place, entry) in entries.enumerated() { places[entry.key] = UInt32(place) }
    }
}
