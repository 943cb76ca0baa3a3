import EventLoops
import Synchronization

/// What all loops know of hosts: the limits of exchanges, and when a kept connection got no response.
final class HostLimits: Sendable {
    /// An exchange that waits, and the pool that starts it.
    struct Waiting: Sendable {
        let exchange: Exchange
        let pool: ConnectionPool
    }

    private let queues: Mutex<PerHostQueue<HostKey, Waiting>>
    /// Idle connections of all pools.
    private let kept = Atomic(0)
    private let silences = Mutex<[HostKey: MonotonicTime]>([:])
    /// After it, no connection is left that was kept before a silence.
    private let keptTime: Duration

    init(_ configuration: OutboundHTTPConfiguration) {
        keptTime = .seconds(max(1, configuration.keptConnectionSeconds))
        queues = Mutex(
            PerHostQueue(
                maximumActive: configuration.perHostConnections, maximumWaiting: configuration.perHostWaiting))
    }

    func admit(_ exchange: Exchange, of pool: ConnectionPool) -> PerHostQueue<HostKey, Waiting>.Admission {
        queues.withLock { $0.admit(Waiting(exchange: exchange, pool: pool), at: exchange.host) }
    }

    /// Ends one active exchange. The longest waiting one is returned, and is active in its place.
    func leave(_ host: HostKey) -> Waiting? { queues.withLock { $0.leave(host) } }

    /// Removes the waiting exchanges of a pool whose deadlines have come.
    /// - Returns: Them, and the earliest deadline of the others.
    func removeWaiting(of pool: ConnectionPool, until now: MonotonicTime) -> ([Exchange], next: MonotonicTime) {
        queues.withLock { queues in
            let removed = queues.removeWaiting { $0.pool === pool && $0.exchange.deadline <= now }
            let left = queues.waiting.filter { $0.pool === pool }.map(\.exchange.deadline)
            return (removed.map(\.exchange), left.min() ?? .never)
        }
    }

    /// A kept connection to a host got no response in time.
    func noteSilence(of host: HostKey, at now: MonotonicTime) {
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
