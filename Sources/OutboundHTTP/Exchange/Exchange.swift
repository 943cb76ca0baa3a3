import OpenIDConnect

/// A request on its way through the client, and the continuation that gets its response.
///
/// It has one owner at a time: the inbox, then a host's queue, then a transfer. The last owner finishes it, once. A
/// class, because a value with so many members would be copied member by member at each step.
final class Exchange: Sendable {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    /// The upper bound of timeouts, so that no sum of times can overflow.
    static let longestTimeout = Duration.seconds(3600)

    let request: OutboundRequest
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Outcome, Never>

    init(
        _ request: OutboundRequest, deadline: ContinuousClock.Instant, continuation: CheckedContinuation<Outcome, Never>
    ) {
        self.request = request
        self.deadline = deadline
        self.continuation = continuation
    }

    var host: HostKey { HostKey(name: request.url.host, port: request.url.port, carrier: request.destination?.carrier) }

    func error(_ code: OutboundError.Code, mayHaveBeenSent: Bool = false, _ reason: String) -> OutboundError {
        OutboundError(code, mayHaveBeenSent: mayHaveBeenSent, reason: "\(request.url.host): \(reason)")
    }
}

/// The exchanges of one key share a limit of connections.
struct HostKey: Hashable, Sendable {
    let name: String
    let port: UInt16
    /// Carriers on the same host have separate limits.
    let carrier: String?
}
