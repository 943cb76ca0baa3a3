import HTTPTypes
import Logging
import Primitives

/// The state that all connections of a listener share; the counts are of the whole server.
final class ConnectionService: Sendable {
    let limits: ServerLimits
    let timeouts: ServerTimeouts
    let connections: ConnectionLimiter
    let handshakes: HandshakeLimit
    let output: MemoryBudget
    let input: MemoryBudget
    let streams: CountLimit
    let probePaths: Set<String>
    /// Nil for plain HTTP.
    let tls: ServerTLS?
    let render: ErrorRenderer
    /// Refuses requests while their loop is overloaded; nil to serve all.
    let shed: LoadShedder?
    let handler: ImmediateHandler
    private let logger: Logger
    /// A lock is cheap beside the response and the connection that a refusal costs.
    private let counts: Counts<ServerStatistics>

    /// - Parameter other: Of another listener of the server, which shares its limits; nil for the first one.
    init(
        configuration: ServerConfiguration, logger: Logger, render: @escaping ErrorRenderer, shed: LoadShedder?,
        tls: ServerTLS? = nil, sharing other: ConnectionService? = nil, handler: @escaping ImmediateHandler
    ) {
        let limits = configuration.limits
        self.limits = limits
        timeouts = configuration.timeouts
        connections = other?.connections ?? ConnectionLimiter(limits: limits)
        handshakes = other?.handshakes ?? HandshakeLimit(maximum: limits.handshakes, patience: limits.patience)
        output = other?.output ?? MemoryBudget(maximum: limits.unsentBytes)
        input = other?.input ?? MemoryBudget(maximum: limits.incompleteBytes)
        streams = other?.streams ?? CountLimit(maximum: limits.streams)
        probePaths = configuration.probePaths
        counts = other?.counts ?? Counts(ServerStatistics.none)
        self.tls = tls
        self.render = render
        self.shed = shed
        self.handler = handler
        self.logger = logger
    }

    var statistics: ServerStatistics {
        var statistics = counts.present
        connections.write(to: &statistics)
        statistics.handshakes = handshakes.count
        statistics.streams = streams.count
        statistics.unsentBytes = output.bytes
        statistics.incompleteBytes = input.bytes
        return statistics
    }

    /// The handler's response, or its error's; or what ``run(_:for:)`` has to run for it.
    func respond(to request: Request) -> ValueOrTask<Response> {
        do {
            switch try handler(request) {
            case .value(let response): return .value(compressed(response, for: request))
            case .task(let work): return .task(work)
            }
        } catch {
            return .value(response(to: error, of: request))
        }
    }

    /// The response of a handler that waits, or its error's.
    func run(_ work: @Sendable () async throws -> Response, for request: Request) async -> Response {
        do {
            return compressed(try await work(), for: request)
        } catch {
            return response(to: error, of: request)
        }
    }

    private func compressed(_ response: consuming Response, for request: Request) -> Response {
        ResponseCompression.apply(to: &response, for: request)
        return response
    }

    @inline(never)
    private func response(to error: any Error, of request: Request) -> Response {
        if let error = error as? HTTPError { return render(error, request) }
        logger.error("a handler failed", metadata: ["error": "\(type(of: error))"])
        return render(.internalServerError, request)
    }

    func limited(_ limit: ConnectionLimit) { counts.note { $0.count(limit) } }

    func handshakeFailed(_ reason: String) {
        counts.note { $0.failedHandshakes += 1 }
        logger.debug("a TLS handshake failed", metadata: ["reason": "\(reason)"])
    }

    func refused(_ error: RequestError) {
        counts.note { $0.refusedRequests[error.status.code, default: 0] += 1 }
        logger.debug(
            "refused a request", metadata: ["rule": "\(error)", "status": .stringConvertible(error.status.code)])
    }
}
