package import Primitives

/// Values of the last seconds, by the sign-in they belong to: bounded in number and age, the oldest going first.
///
/// Each operation takes constant time on the average of many.
package struct RecentValues<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        var value: Value
        let since: Timestamp
    }

    private let window: Int64
    private let capacity: Int
    private var entries: [SignInFingerprint: Entry] = [:]
    /// The keys in the order they came; those before `oldest` are gone.
    private var order: [SignInFingerprint] = []
    private var oldest = 0

    /// - Parameter window: For how many seconds a value is kept.
    package init(window: Int64, capacity: Int) {
        self.window = window
        self.capacity = capacity
    }

    package var count: Int { entries.count }

    package func value(for key: SignInFingerprint, at now: Timestamp) -> Value? {
        guard let entry = entries[key], isRecent(entry, at: now) else { return nil }
        return entry.value
    }

    /// Keeps a value. One that replaces another of the same sign-in is not kept longer for it.
    package mutating func keep(_ value: Value, for key: SignInFingerprint, at now: Timestamp) {
        removeExpired(at: now)
        guard entries[key] == nil else {
            entries[key]?.value = value
            return
        }
        if entries.count >= capacity { removeOldest() }
        entries[key] = Entry(value: value, since: now)
        order.append(key)
    }

    private mutating func removeExpired(at now: Timestamp) {
        while oldest < order.count, let entry = entries[order[oldest]], !isRecent(entry, at: now) { removeOldest() }
    }

    private mutating func removeOldest() {
        guard oldest < order.count else { return }
        entries[order[oldest]] = nil
        oldest += 1
        guard oldest > 1024, oldest * 2 > order.count else { return }
        order.removeFirst(oldest)
        oldest = 0
    }

    /// A clock that was set back by more than the window makes a value old, too.
    private func isRecent(_ entry: Entry, at now: Timestamp) -> Bool {
        entry.since.advanced(bySeconds: -window) <= now && now <= entry.since.advanced(bySeconds: window)
    }
}
