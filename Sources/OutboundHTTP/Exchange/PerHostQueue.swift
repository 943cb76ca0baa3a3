/// Decides which exchanges start and which wait, host by host: a host that hangs fills only its own queue.
///
/// A value without clock or network. A host without exchanges takes no memory.
package struct PerHostQueue<Host: Hashable, Waiting> {
    package enum Admission { case start, wait, overloaded }

    private struct Queue {
        var active: Int
        /// In the order of arrival. Elements before `first` have left.
        var waiting: [Waiting] = []
        var first = 0

        var waitingCount: Int { waiting.count - first }

        mutating func next() -> Waiting? {
            guard first < waiting.count else { return nil }
            let next = waiting[first]
            first += 1
            // Moving the rest each time would take quadratic time for a long queue.
            if first > 64, first * 2 > waiting.count {
                waiting.removeFirst(first)
                first = 0
            }
            return next
        }
    }

    private var queues: [Host: Queue] = [:]
    private let maximumActive: Int
    private let maximumWaiting: Int

    package init(maximumActive: Int, maximumWaiting: Int) {
        self.maximumActive = max(1, maximumActive)
        self.maximumWaiting = max(0, maximumWaiting)
    }

    /// All that wait.
    package var waiting: [Waiting] { queues.values.flatMap { $0.waiting[$0.first...] } }

    package var hostCount: Int { queues.count }

    /// Decides on an arrival. After `start` it is active until ``leave(_:)``; after `wait` it is in the queue.
    package mutating func admit(_ arrival: Waiting, at host: Host) -> Admission {
        guard let index = queues.index(forKey: host) else {
            queues[host] = Queue(active: 1)
            return .start
        }
        if queues.values[index].active < maximumActive {
            queues.values[index].active += 1
            return .start
        }
        guard queues.values[index].waitingCount < maximumWaiting else { return .overloaded }
        queues.values[index].waiting.append(arrival)
        return .wait
    }

    /// Ends one active exchange. The longest waiting one is returned, and is active in its place.
    package mutating func leave(_ host: Host) -> Waiting? {
        guard let index = queues.index(forKey: host) else { return nil }
        if let next = queues.values[index].next() { return next }
        queues.values[index].active -= 1
        if queues.values[index].active <= 0 { queues.remove(at: index) }
        return nil
    }

    /// Removes all matching ones from the queues.
    package mutating func removeWaiting(where matches: (Waiting) -> Bool) -> [Waiting] {
        var removed: [Waiting] = []
        for index in queues.indices where queues.values[index].waitingCount > 0 {
            var kept: [Waiting] = []
            for waiting in queues.values[index].waiting[queues.values[index].first...] {
                if matches(waiting) { removed.append(waiting) } else { kept.append(waiting) }
            }
            queues.values[index].waiting = kept
            queues.values[index].first = 0
        }
        return removed
    }
}
