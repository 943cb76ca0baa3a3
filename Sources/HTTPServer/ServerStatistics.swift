import HTTPTypes
import Synchronization

/// The current load of a server, and its counts since it was created.
public struct ServerStatistics: Sendable, Hashable {
    /// Open connections.
    public var connections = 0
    /// Accepted connections.
    public var accepted: UInt64 = 0
    /// Connections beyond a limit, in total or of one address.
    public var refused: UInt64 = 0
    /// TLS handshakes in progress.
    public var handshakes = 0
    /// Streamed responses in progress.
    public var streams = 0
    /// Failed TLS handshakes.
    public var failedHandshakes: UInt64 = 0
    /// Requests refused before the handler, by status; every status is present, also with 0.
    public var refusedRequests: [Int: UInt64] = [:]

    /// All zero.
    public init() {}
}

/// The counts that no other object keeps.
final class ServerCounts: Sendable {
    private let failedHandshakes = Atomic<UInt64>(0)
    /// A lock is cheap beside the response and the connection that a refusal costs.
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
