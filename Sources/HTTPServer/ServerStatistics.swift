import HTTPTypes

/// The current load of a server, and its counts since it was created.
public struct ServerStatistics: Sendable, Hashable {
    /// Open connections.
    public var connections = 0
    /// Accepted connections.
    public var accepted: UInt64 = 0
    /// Connections beyond a limit, in total or of one address, that were refused.
    public var refused: UInt64 = 0
    /// Connections refused or closed because of a limit; every reason is present, also with 0.
    public var limited: [ConnectionLimit: UInt64] = [:]
    /// Bytes of output that clients have not received.
    public var unsentBytes = 0
    /// Bytes of requests that have not arrived in full, where a connection has more than 4 KiB of them.
    public var incompleteBytes = 0
    /// TLS handshakes in progress.
    public var handshakes = 0
    /// Streamed responses in progress.
    public var streams = 0
    /// Failed TLS handshakes.
    public var failedHandshakes: UInt64 = 0
    /// Requests refused before the handler, by status; every status is present, also with 0.
    public var refusedRequests: [Int: UInt64] = [:]
}

/// The limit because of which a connection was refused or closed.
public enum ConnectionLimit: String, Sendable, CaseIterable {
    /// Refused: there were too many connections, and none could make room.
    case full
    /// Refused: its address had its share.
    case addressShare = "address_share"
    /// Closed without a response: more connections were refused than get responses.
    case unanswered
    /// Closed to make room for another connection.
    case evicted
    /// Closed to make room for another TLS handshake.
    case handshakeEvicted = "handshake_evicted"
    /// Closed because the client did not read, and unsent output took too much memory.
    case unsentOutput = "unsent_output"
    /// Refused because requests that had not arrived in full took too much memory.
    case incompleteRequests = "incomplete_requests"
}

/// The counts that no other object keeps.
extension ServerStatistics {
    /// Zero for each reason and status.
    static let none = {
        var none = ServerStatistics()
        for limit in ConnectionLimit.allCases { none.limited[limit] = 0 }
        for error in RequestError.allCases { none.refusedRequests[error.status.code] = 0 }
        return none
    }()

    mutating func count(_ limit: ConnectionLimit) {
        limited[limit, default: 0] += 1
        if [.full, .addressShare, .unanswered].contains(limit) { refused += 1 }
    }
}
