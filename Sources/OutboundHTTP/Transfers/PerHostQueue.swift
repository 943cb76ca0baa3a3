/// Who may start and who waits, host by host: a hanging host fills its own line and nobody else's.
///
/// A value without clock or network. A host without exchanges takes no memory.
package struct PerHostQueue<Host: Hashable, Waiting> {
    package enum Admission {
        case start, wait, overloaded
    }

    private struct Line {
        var active: Int
        /// First come, first served; what stands before `first` has left.
        var waiting: [Waiting] = []
        var first = 0

        var waitingCount: Int { waiting.count - first }

        mutating func next() -> Waiting? {
            guard first < waiting.count else { return nil }
            let next = waiting[first]
            first += 1
            // Moving the rest down each time would make a long line quadratic.
            if first > 64, first * 2 > waiting.count {
                waiting.removeFirst(first)
                first = 0
            }
            return next
        }
    }

    private var lines: [Host: Line] = [:]
    private let maximumActive: Int
    private let maximumWaiting: Int

    package init(maximumActive: Int, maximumWaiting: Int) {
        self.maximumActive = max(1, maximumActive)
        self.maximumWaiting = max(0, maximumWaiting)
    }

    /// All that stand in line.
    package var waiting: [Waiting] { lines.values.flatMap { $0.waiting[$0.first...] } }

    package var hostCount: Int { lines.count }

    /// Decides on an arrival. After `start` it counts as active until ``leave(_:)``; after `wait` it stands in line.
    package mutating func admit(_ arrival: Waiting, at host: Host) -> Admission {
        guard let index = lines.index(forKey: host) else {
            lines[host] = Line(active: 1)
            return .start
        }
        if lines.values[index].active < maximumActive {
            lines.values[index].active += 1
            return .start
        }
        guard lines.values[index].waitingCount < maximumWaiting else { return .overloaded }
        lines.values[index].waiting.append(arrival)
        return .wait
    }

    /// Ends one active exchange. Its place goes to the longest waiting, which is returned and counts as active.
    package mutating func leave(_ host: Host) -> Waiting? {
        guard let index = lines.index(forKey: host) else { return nil }
        if let next = lines.values[index].next() { return next }
        lines.values[index].active -= 1
        if lines.values[index].active <= 0 { lines.remove(at: index) }
        return nil
    }

    /// Takes all that match out of the lines.
    package mutating func removeWaiting(where matches: (Waiting) -> Bool) -> [Waiting] {
        var removed: [Waiting] = []
        for index in lines.indices where lines.values[index].waitingCount > 0 {
            var kept: [Waiting] = []
            for waiting in lines.values[index].waiting[lines.values[index].first...] {
                if matches(waiting) { removed.append(waiting) } else { kept.append(waiting) }
            }
            lines.values[index].waiting = kept
            lines.values[index].first = 0
        }
        return removed
    }
}
