import Primitives
import Synchronization

/// Counts the open connections, in total and by address, and reports when the last one is closed.
package final class ConnectionLimiter: Sendable {
    private struct Counts {
        var total = 0
        var accepted: UInt64 = 0
        var refused: UInt64 = 0
        /// By network: an IPv4 address, or the /64 that one IPv6 user commonly has.
        var byNetwork: [IPAddress?: Int] = [:]
        var waitingForNone: [@Sendable () -> Void] = []
    }

    /// Connections beyond the limit that get a response; further ones are closed without one.
    private static let refusedAtOnce = 128

    private let limits: ServerLimits
    private let counts = Mutex(Counts())

    package init(limits: ServerLimits) { self.limits = limits }

    package enum Admission {
        case accept
        /// Respond with the error, and close.
        case refuse(RequestError)
        /// Close at once; it was not counted.
        case drop
    }

    /// Counts a new connection.
    package func add(_ peer: SocketAddress) -> Admission {
        counts.withLock { counts in
            let admission = admit(peer, &counts)
            if case .accept = admission { counts.accepted += 1 } else { counts.refused += 1 }
            return admission
        }
    }

    private func admit(_ peer: SocketAddress, _ counts: inout Counts) -> Admission {
        guard counts.total < limits.connections + ConnectionLimiter.refusedAtOnce else { return .drop }
        counts.total += 1
        guard let perAddress = limits.connectionsPerAddress else {
            return counts.total > limits.connections ? .refuse(.tooManyConnections) : .accept
        }
        let ofNetwork = counts.byNetwork[peer.address?.network, default: 0] + 1
        counts.byNetwork[peer.address?.network] = ofNetwork
        if counts.total > limits.connections { return .refuse(.tooManyConnections) }
        return ofNetwork > perAddress ? .refuse(.tooManyConnectionsOfAddress) : .accept
    }

    package func remove(_ peer: SocketAddress) {
        let calls = counts.withLock { counts in
            counts.total -= 1
            if limits.connectionsPerAddress != nil {
                let left = counts.byNetwork[peer.address?.network, default: 1] - 1
                counts.byNetwork[peer.address?.network] = left > 0 ? left : nil
            }
            guard counts.total == 0 else { return [@Sendable () -> Void]() }
            defer { counts.waitingForNone = [] }
            return counts.waitingForNone
        }
        for call in calls { call() }
    }

    package var total: Int { counts.withLock { $0.total } }

    func write(to statistics: inout ServerStatistics) {
        counts.withLock { counts in
            statistics.connections = counts.total
            statistics.accepted = counts.accepted
            statistics.refused = counts.refused
        }
    }

    /// Calls back once there is no connection, perhaps at once.
    package func whenNone(_ call: @escaping @Sendable () -> Void) {
        let isNone = counts.withLock { counts in
            if counts.total > 0 { counts.waitingForNone.append(call) }
            return counts.total == 0
        }
        if isNone { call() }
    }
}
