package import Primitives

/// Values of the last seconds, by the sign-in they belong to: bounded in number and age, the oldest going first.
///
/// A ring in the order the values came, and a dictionary of places in it. Each operation takes constant time on the
/// average of many.
package struct RecentValues<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let key: IdempotencyKey
        var value: Value
        let since: Timestamp
    }

    private let window: Int64
    private let capacity: Int
    /// As many entries as there are places, from the `oldest` on; the rest is nil.
    private var ring: [Entry?] = []
    private var oldest = 0
    private var places: [IdempotencyKey: Int32] = [:]

    /// - Parameters:
    ///   - window: For how many seconds a value is kept.
    ///   - capacity: How many values are kept, from 1 to 2^24.
    package init(window: Int64, capacity: Int) {
        self.window = window
        self.capacity = min(max(1, capacity), 1 << 24)
    }

    package var count: Int { places.count }

    package func value(for key: IdempotencyKey, at now: Timestamp) -> Value? {
        guard let place = places[key], let entry = ring[Int(place)], isRecent(entry, at: now) else { return nil }
        return entry.value
    }

    /// Keeps a value. One that replaces another of the same sign-in is not kept longer for it.
    package mutating func keep(_ value: Value, for key: IdempotencyKey, at now: Timestamp) {
        while let entry = ring.isEmpty ? nil : ring[oldest], !isRecent(entry, at: now) { removeOldest(entry) }
        if let place = places[key] {
            ring[Int(place)]?.value = value
            return
        }
        if count == capacity, let entry = ring[oldest] { removeOldest(entry) }
        if count == ring.count { grow() }
        let place = (oldest + count) % ring.count
        ring[place] = Entry(key: key, value: value, since: now)
        places[key] = Int32(place)
    }

    private mutating func removeOldest(_ entry: Entry) {
        ring[oldest] = nil
        places[entry.key] = nil
        oldest = (oldest + 1) % ring.count
    }

    private mutating func grow() {
        var entries = Array(ring[oldest...] + ring[..<oldest])
        for (place, entry) in entries.enumerated() {
            if let entry { places[entry.key] = Int32(place) }
        }
        let size = min(capacity, max(64, entries.count * 2))
        entries.append(contentsOf: repeatElement(nil, count: size - entries.count))
        ring = entries
        oldest = 0
    }

    /// A clock that was set back by more than the window makes a value old, too.
    private func isRecent(_ entry: Entry, at now: Timestamp) -> Bool {
        entry.since.advanced(bySeconds: -window) <= now && now <= entry.since.advanced(bySeconds: window)
    }
}
