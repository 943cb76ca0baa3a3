import EventLoops
import Primitives

/// A request on its way through the client, and the continuation that gets its response.
///
/// Sendable without the compiler's check: it has one owner at a time, its host's queue or its pool, on whose loop it is
/// used. The owner finishes it, once.
final class Exchange: @unchecked Sendable {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    /// The upper bound of timeouts, so that no sum of times can overflow.
    static let longestTimeout = Duration.seconds(3600)

    let request: OutboundRequest
    let host: HostKey
    /// What its connection presents, if the server asks; nil for nothing.
    let certificate: TLSClientCertificate?
    let deadline: MonotonicTime
    /// The one that has taken it.
    var pool: ConnectionPool?
    /// Whether a byte of the request may have been sent.
    var wasSent = false
    private var continuation: UnsafeContinuation<Outcome, Never>?

    init(_ request: OutboundRequest, deadline: MonotonicTime, continuation: UnsafeContinuation<Outcome, Never>) {
        self.request = request
        self.deadline = deadline
        self.continuation = continuation
        certificate = request.clientTLS?.certificate
        host = HostKey(
            name: request.url.host, port: request.url.port, isEncrypted: request.url.scheme == .https,
            carrier: request.destination?.carrier, certificate: certificate?.identifier)
    }

    func error(_ code: OutboundError.Code, _ reason: String) -> OutboundError {
        OutboundError(code, mayHaveBeenSent: wasSent, host: request.url.host, reason: reason)
    }

    /// The error at the ``deadline``.
    /// - Parameter state: What the exchange had come to.
    func timeoutError(_ state: StaticString) -> OutboundError {
        let timeout = min(max(request.timeout, .zero), Self.longestTimeout)
        return error(.timedOut, "timed out after \(timeout.text), \(state)")
    }

    /// The error at the end of the connect timeout, or at the ``deadline`` if that has come.
    func connectTimeoutError(_ state: StaticString, at now: MonotonicTime) -> OutboundError {
        guard deadline > now, let limit = pool?.shared.configuration.connectTimeout else { return timeoutError(state) }
        return error(.unreachable, "timed out after \(limit.text), \(state)")
    }

    func fail(_ code: OutboundError.Code, _ reason: String) { finish(.failure(error(code, reason))) }

    /// Resumes the caller. Later calls do nothing.
    func finish(_ outcome: Outcome) {
        continuation.take()?.resume(returning: outcome)
    }
}

/// The exchanges of one key share a limit, and connections.
struct HostKey: Hashable, Sendable {
    let name: String
    let port: UInt16
    let isEncrypted: Bool
    /// Providers on the same host have separate limits.
    let carrier: String?
    /// The identifier of the certificate that its connections present: none carries a request without it or with
    /// another one.
    let certificate: String?

    /// Leaves out what seldom differs between keys of the same host.
    func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(port)
    }
}

extension Duration {
    /// `3 s`, or `250 ms` for a part of a second.
    var text: String {
        let (seconds, attoseconds) = components
        guard attoseconds != 0 else { return "\(seconds) s" }
        return "\(seconds &* 1000 &+ attoseconds / 1_000_000_000_000_000) ms"
    }
}
