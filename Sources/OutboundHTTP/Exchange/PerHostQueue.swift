import EventLoops
import Synchronization

/// Decides which exchanges start and which wait, host by host: a host that hangs fills only its own queue.
///
/// A value without clock or network. A host without exchanges takes no memory.
package struct PerHostQueue<Host: Hashable, Waiting> {
    private struct Queue {
        var active: Int
        /// In the order of arrival.
        var waiting: [Waiting] = []
    }

    private var queues: [Host: Queue] = [:]
    private let maximumActive: Int

    package init(maximumActive: Int) { self.maximumActive = max(1, maximumActive) }

    package var waiting: [Waiting] { queues.values.flatMap(\.waiting) }

    package var hostCount: Int { queues.count }

    /// Whether an arrival starts. Then it is active until ``leave(_:)``; otherwise it is in the queue.
    package mutating func starts(_ arrival: Waiting, at host: Host) -> Bool {
        guard let index = queues.index(forKey: host) else {
            queues[host] = Queue(active: 1)
            return true
        }
        if queues.values[index].active < maximumActive {
            queues.values[index].active += 1
            return true
        }
        queues.values[index].waiting.append(arrival)
        return false
    }

    /// Ends one active exchange. The longest waiting one is returned, and is active in its place.
    package mutating func leave(_ host: Host) -> Waiting? {
        guard let index = queues.index(forKey: host) else { return nil }
        guard queues.values[index].waiting.isEmpty else { return queues.values[index].waiting.removeFirst() }
        queues.values[index].active -= 1
        if queues.values[index].active <= 0 { queues.remove(at: index) }
        return nil
    }

    package mutating func removeWaiting(where matches: (Waiting) -> Bool) -> [Waiting] {
        var removed: [Waiting] = []
        for index in queues.indices where !queues.values[index].waiting.isEmpty {
            removed += queues.values[index].waiting.filter(matches)
            queues.values[index].waiting.removeAll(where: matches)
        }
        return removed
    }
}

/// What all loops know of hosts: the limits of exchanges, and when a kept connection got no response.
final class HostLimits: Sendable {
    let queues: Mutex<PerHostQueue<HostKey, Exchange>>
    /// Idle connections of all pools.
    private let kept = Atomic(0)
    private let silences = Mutex<[HostKey: MonotonicTime]>([:])
    /// After it, no connection is left that was kept before a silence.
    private let keptTime: Duration

    init(_ configuration: OutboundHTTPConfiguration) {
        keptTime = .seconds(max(1, configuration.keptConnectionSeconds))
        queues = Mutex(PerHostQueue(maximumActive: configuration.perHostConnections))
    }

    /// Removes the waiting exchanges of a pool whose deadlines have come.
    /// - Returns: Them, and the earliest deadline of the others.
    func removeWaiting(of pool: ConnectionPool, until now: MonotonicTime) -> ([Exchange], next: MonotonicTime) {
        queues.withLock { queues in
            let removed = queues.removeWaiting { $0.pool === pool && $0.deadline <= now }
            let left = queues.waiting.filter { $0.pool === pool }.map(\.deadline)
            return (removed, left.min() ?? .never)
        }
    }

    /// A kept connection to a host got no response in time.
    func noteStale(of host: HostKey, at now: MonotonicTime) {
        silences.withLock { silences in
            silences = silences.filter { $0.value.advanced(by: keptTime) > now }
            silences[host] = now
        }
    }

    /// When a kept connection to a host last got no response; connections that were kept before are not used again.
    func silence(of host: HostKey) -> MonotonicTime? { silences.withLock { $0.isEmpty ? nil : $0[host] } }

    /// Counts a connection as idle; false if there are then more than `maximum`.
    func keep(maximum: Int) -> Bool { kept.add(1, ordering: .relaxed).newValue <= maximum }

    /// An idle connection is used again, or closed.
    func release() { kept.subtract(1, ordering: .relaxed) }
}
