import HTTPTypes
import Logging

/// What all connections of a listener share; the counts are those of the whole server.
final class ConnectionService: Sendable {
    let limits: ServerLimits
    let timeouts: ServerTimeouts
    let connections: ConnectionLimiter
    let handshakes: HandshakeLimit
    let streams: StreamLimit
    /// What connections begin with a handshake with; nil where they are plain.
    let tls: ServerTLS?
    /// Makes an answer of an error; the request is nil where none could be read.
    let render: ErrorRenderer
    private let handler: Handler
    private let logger: Logger
    private let counts: ServerCounts

    init(
        configuration: ServerConfiguration, logger: Logger, render: @escaping ErrorRenderer, handler: @escaping Handler
    ) {
        connections = ConnectionLimiter(limits: configuration.limits)
        handshakes = HandshakeLimit(maximum: configuration.limits.handshakes)
        streams = StreamLimit(maximum: configuration.limits.streams)
        counts = ServerCounts()
        tls = nil
        limits = configuration.limits
        timeouts = configuration.timeouts
        self.render = render
        self.handler = handler
        self.logger = logger
    }

    /// One for a listener that differs in how it is spoken to, or in who answers.
    init(_ other: ConnectionService, tls: ServerTLS?, handler: Handler? = nil) {
        limits = other.limits
        timeouts = other.timeouts
        connections = other.connections
        handshakes = other.handshakes
        streams = other.streams
        counts = other.counts
        render = other.render
        logger = other.logger
        self.tls = tls
        self.handler = handler ?? other.handler
    }

    var statistics: ServerStatistics {
        var statistics = ServerStatistics()
        connections.write(to: &statistics)
        statistics.handshakes = handshakes.count
        statistics.streams = streams.count
        counts.write(to: &statistics)
        return statistics
    }

    /// The handler's answer, or one that tells of its error.
    func answer(_ request: Request) async -> Response {
        do {
            var response = try await handler(request)
            ResponseCompression.apply(to: &response, for: request)
            return response
        } catch let error as HTTPError {
            return render(error, request)
        } catch {
            logger.error("a handler failed", metadata: ["error": "\(type(of: error))"])
            return render(.internalServerError, request)
        }
    }

    /// Notes a handshake that came to nothing.
    func handshakeFailed(_ reason: String) {
        counts.countFailedHandshake()
        logger.debug("a TLS handshake failed", metadata: ["reason": "\(reason)"])
    }

    /// Notes a request that was refused before a handler saw it.
    func refused(_ error: RequestError) {
        counts.count(error)
        logger.debug("refused a request", metadata: ["rule": "\(error)", "status": "\(error.status.code)"])
    }
}
