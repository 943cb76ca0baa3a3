import HTTPTypes
import Logging

/// What all connections of a server share.
final class ConnectionService: Sendable {
    let limits: ServerLimits
    let timeouts: ServerTimeouts
    let connections: ConnectionCensus
    /// Makes an answer of an error; the request is nil where none could be read.
    let render: ErrorRenderer
    private let handler: Handler
    private let logger: Logger

    init(
        configuration: ServerConfiguration, logger: Logger, render: @escaping ErrorRenderer, handler: @escaping Handler
    ) {
        limits = configuration.limits
        timeouts = configuration.timeouts
        connections = ConnectionCensus(limits: configuration.limits)
        self.render = render
        self.handler = handler
        self.logger = logger
    }

    /// The handler's answer, or one that tells of its error.
    func answer(_ request: Request) async -> Response {
        do {
            var response = try await handler(request)
            AnswerCompression.apply(to: &response, for: request)
            return response
        } catch let error as HTTPError {
            return render(error, request)
        } catch {
            logger.error("a handler failed", metadata: ["error": "\(type(of: error))"])
            return render(.internalServerError, request)
        }
    }

    /// Notes a request that was refused before a handler saw it.
    func refused(_ error: RequestError) {
        logger.debug("refused a request", metadata: ["rule": "\(error)", "status": "\(error.status.code)"])
    }
}
