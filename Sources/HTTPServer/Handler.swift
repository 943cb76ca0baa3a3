/// Answers a request. What it throws becomes an answer through ``Server``'s renderer of errors: an ``HTTPError`` as
/// itself, anything else as 500 without a word of what it was.
public typealias Handler = @Sendable (Request) async throws -> Response

/// Stands around a handler: may look at the request, answer in its place, or change its answer.
public protocol Middleware: Sendable {
    func respond(to request: Request, next: Handler) async throws -> Response
}

/// Puts a middleware around a handler. The last one put around runs first.
public func wrap(_ handler: @escaping Handler, in middleware: some Middleware) -> Handler {
    { request in try await middleware.respond(to: request, next: handler) }
}
