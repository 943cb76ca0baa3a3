import OpenIDConnect

/// A request on its way through the client, and who waits for its answer.
///
/// It has one owner at a time: the inbox, then a host's line, then a transfer. Whoever holds it last finishes it, once.
/// A class, since a value of so many parts would be copied part by part at each step of that way.
final class Exchange: Sendable {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    /// Longer waits are cut to this, so that no sum of times can overflow.
    static let longestTimeout = Duration.seconds(3600)

    let request: OutboundRequest
    let deadline: ContinuousClock.Instant
    let continuation: CheckedContinuation<Outcome, Never>

    init(
        _ request: OutboundRequest, deadline: ContinuousClock.Instant,
        continuation: CheckedContinuation<Outcome, Never>
    ) {
        self.request = request
        self.deadline = deadline
        self.continuation = continuation
    }

    var host: HostKey { HostKey(name: request.url.host, port: request.url.port, carrier: request.destination?.carrier) }

    func failure(_ code: OutboundError.Code, mayHaveBeenSent: Bool = false, _ reason: String) -> Outcome {
        .failure(OutboundError(code, mayHaveBeenSent: mayHaveBeenSent, reason: "\(request.url.host): \(reason)"))
    }
}

/// What shares a limit of connections.
struct HostKey: Hashable, Sendable {
    let name: String
    let port: UInt16
    /// Two carriers on one host have a limit each.
    let carrier: String?
}
