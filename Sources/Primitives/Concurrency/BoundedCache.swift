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
/// The values stand in a ring in the order of age, and a ``PlaceTable`` finds them: a dictionary and a list of its keys
/// would take three times the memory.
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
        /// Of the key.
        @usableFromInline let hash: UInt32
        @usableFromInline let weight: UInt32

        @inlinable
        init(key: Key, value: Value, since: Timestamp, hash: UInt32, weight: Int) {
            (self.key, self.value, self.since, self.hash) = (key, value, since, hash)
            self.weight = UInt32(clamping: weight)
        }
    }

    @usableFromInline package let capacity: Int
    @usableFromInline let age: Age
    @usableFromInline let lifetime: Int64?
    /// The number of values, including expired ones that no later change has removed.
    @usableFromInline package internal(set) var count = 0
    /// What these values weigh together.
    @usableFromInline package internal(set) var weight = 0
    /// Entries in the order of age; nil where one was removed, and where none has been put. Its size is a power of two.
    @usableFromInline var ring: [Entry?] = []
    /// The place of the oldest entry, and the number of places from there to the newest one.
    @usableFromInline var first = 0
    @usableFromInline var used = 0
    /// The entries' places in the ring. Twice as large as the ring.
    @usableFromInline var table = PlaceTable()

    /// - Parameters:
    ///   - capacity: What the kept values may weigh together, 1 at least.
    ///   - lifetime: How long a value is kept, in seconds; nil for as long as there is room.
    @inlinable
    package init(capacity: Int, age: Age = .update, lifetime: Int64? = nil) {
        (self.capacity, self.age, self.lifetime) = (max(1, capacity), age, lifetime)
    }

    /// The value of a key, whether or not it has expired.
    @inlinable
    package subscript(key: Key) -> Value? { entry(of: key)?.value }

    /// The value of a key, unless it has expired.
    @inlinable
    package func value(for key: Key, at now: Timestamp) -> Value? {
        entry(of: key).flatMap { isCurrent($0, at: now) ? $0.value : nil }
    }

    /// All values, the oldest first.
    package var entries: [(key: Key, value: Value)] {
        (0..<used).compactMap { offset in ring[place(offset)].map { ($0.key, $0.value) } }
    }

    /// Puts a value in, in place of the one that the key has.
    /// - Parameters:
    ///   - weight: A value that weighs more than the capacity is not kept. One that replaces another and takes over
    ///     its age takes over its weight, too.
    ///   - now: Counts only where values expire.
    @inlinable
    package mutating func put(
        _ value: Value, for key: Key, weighing weight: Int = 1, at now: Timestamp = Timestamp(secondsSinceEpoch: 0)
    ) {
        removeExpired(at: now)
        let hash = Self.hash(of: key)
        if let slot = slot(of: key, hash) {
            if age == .insertion {
                ring[table.place(in: slot)]?.value = value
                return
            }
            removeEntry(in: slot)
        }
        guard weight <= capacity else { return }
        while count > 0, self.weight + weight > capacity { removeOldest() }
        append(Entry(key: key, value: value, since: now, hash: hash, weight: weight))
    }

    /// Removes the value of a key.
    @inlinable
    @discardableResult
    package mutating func remove(_ key: Key) -> Value? {
        guard let slot = slot(of: key, Self.hash(of: key)) else { return nil }
        return removeEntry(in: slot)?.value
    }

    /// Removes all values.
    package mutating func removeAll() { self = BoundedCache(capacity: capacity, age: age, lifetime: lifetime) }

    /// A clock that was set back by more than the lifetime makes a value old, too.
    @inlinable
    func isCurrent(_ entry: Entry, at now: Timestamp) -> Bool {
        guard let lifetime else { return true }
        return entry.since.advanced(bySeconds: -lifetime) <= now && now <= entry.since.advanced(bySeconds: lifetime)
    }

    /// Removes the values that have expired, from the oldest on.
    @inlinable
    package mutating func removeExpired(at now: Timestamp) {
        guard lifetime != nil else { return }
        while count > 0, let oldest = ring[first], !isCurrent(oldest, at: now) { removeOldest() }
    }

    @inlinable
    mutating func removeOldest() {
        guard let oldest = ring[first], let slot = slot(of: oldest.key, oldest.hash) else { return }
        removeEntry(in: slot)
    }

    // MARK: The ring

    @inlinable
    func place(_ offset: Int) -> Int { (first + offset) & (ring.count - 1) }

    @inlinable
    mutating func append(_ entry: Entry) {
        // If half of the places are of removed entries, these are enough.
        if used == ring.count { resize(to: count > ring.count / 2 ? 2 * ring.count : max(8, ring.count)) }
        table.insert(place(used), UInt64(entry.hash))
        ring[place(used)] = entry
        used += 1
        count += 1
        weight += Int(entry.weight)
    }

    /// Moves the entries to the start of a ring of another size, which has room for them.
    @inlinable
    mutating func resize(to size: Int) {
        let (former, places) = (ring, (0..<used).map(place))
        ring = [Entry?](repeating: nil, count: size)
        table = PlaceTable(size: 2 * size)
        (first, used) = (0, 0)
        for place in places {
            guard let entry = former[place] else { continue }
            table.insert(used, UInt64(entry.hash))
            ring[used] = entry
            used += 1
        }
    }

    /// Removes an entry from the ring and the table.
    @inlinable
    @discardableResult
    mutating func removeEntry(in slot: Int) -> Entry? {
        let place = table.place(in: slot)
        let removed = ring[place]
        ring[place] = nil
        count -= 1
        weight -= Int(removed?.weight ?? 0)
        while used > 0, ring[first] == nil { (first, used) = (self.place(1), used - 1) }
        table.clear(slot) { [ring] in UInt64(ring[$0]?.hash ?? 0) }
        return removed
    }

    // MARK: The table

    /// Swift draws the seed of hashes anew in each process: a client cannot choose keys with the same hash.
    @inlinable
    static func hash(of key: Key) -> UInt32 { UInt32(truncatingIfNeeded: key.hashValue) }

    @inlinable
    func entry(of key: Key) -> Entry? { slot(of: key, Self.hash(of: key)).flatMap { ring[table.place(in: $0)] } }

    @inlinable
    func slot(of key: Key, _ hash: UInt32) -> Int? {
        table.slot(of: UInt64(hash)) { ring[$0]?.hash == hash && ring[$0]?.key == key }
    }
}
