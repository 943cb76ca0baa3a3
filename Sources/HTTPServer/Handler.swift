public import Primitives

/// Makes the response to a request. ``Server``'s ``ErrorRenderer`` turns a thrown ``HTTPError`` into a response, and
/// any other error into a 500 that reveals nothing about it.
public typealias Handler = @Sendable (Request) async throws -> Response

/// As ``Handler``, for handlers that mostly need not wait. What it does before it returns must be fast: the loop of the
/// connection serves nothing else meanwhile.
public typealias ImmediateHandler = @Sendable (Request) throws -> ValueOrTask<Response>

/// A handler that always runs in a task.
func immediate(_ handler: @escaping Handler) -> ImmediateHandler {
    { request in .task { try await handler(request) } }
}
