import EventLoops
import Synchronization

/// The limits of exchanges by host, over all loops.
final class HostLimits: Sendable {
    /// An exchange that waits, and the pool that starts it.
    struct Waiting: Sendable {
        let exchange: Exchange
        let pool: ConnectionPool
    }

    private let queues: Mutex<PerHostQueue<HostKey, Waiting>>
    /// Idle connections of all pools.
    private let kept = Atomic(0)

    init(_ configuration: OutboundHTTPConfiguration) {
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

    /// Counts a connection as idle; false if there are then more than `maximum`.
    func keep(maximum: Int) -> Bool { kept.add(1, ordering: .relaxed).newValue <= maximum }

    /// An idle connection is used again, or closed.
    func release() { kept.subtract(1, ordering: .relaxed) }
}
