import HTTPTypes
import Synchronization

/// What a server has to do, and what it has refused since it was made.
public struct ServerStatistics: Sendable, Hashable {
    /// Connections that are open.
    public var connections = 0
    /// Connections that were taken.
    public var accepted: UInt64 = 0
    /// Connections that were too many, in all or of one address.
    public var turnedAway: UInt64 = 0
    /// TLS handshakes under way.
    public var handshakes = 0
    /// Answers under way that are made as time goes on.
    public var streams = 0
    /// TLS handshakes that came to nothing.
    public var failedHandshakes: UInt64 = 0
    /// Requests that were refused before a handler saw them, by the status of the answer; each is there, with 0 too.
    public var refusedRequests: [Int: UInt64] = [:]

    public init() {}
}

/// Counts what of it nobody else does.
final class ServerCounts: Sendable {
    private let failedHandshakes = Atomic<UInt64>(0)
    /// A refusal costs an answer and a connection: what a lock costs does not matter beside that.
    private let refused = Mutex<[Int: UInt64]>(
        Dictionary(RequestError.allCases.map { ($0.status.code, 0) }) { first, _ in first })

    func countFailedHandshake() { failedHandshakes.wrappingAdd(1, ordering: .relaxed) }

    func count(_ error: RequestError) {
        refused.withLock { $0[error.status.code, default: 0] += 1 }
    }

    func write(to statistics: inout ServerStatistics) {
        statistics.failedHandshakes = failedHandshakes.load(ordering: .relaxed)
        statistics.refusedRequests = refused.withLock { $0 }
    }
}
