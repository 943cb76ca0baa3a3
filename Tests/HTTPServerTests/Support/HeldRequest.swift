import HTTPServer
import TestSupport

/// A handler that holds the requests of one path until they are released.
struct HeldRequest: Sendable {
    /// Opened by the first request of the path.
    let entered = Gate()
    /// Its requests pass once this is open.
    let released = Gate()
    let handler: Handler

    /// - Parameter next: Responds to all requests; to those of the path after their release.
    init(_ path: String = "/wait", then next: @escaping Handler = LiveServer.echo) {
        handler = { [entered, released] request in
            if request.path == path {
                entered.open()
                await released.pass()
            }
            return try await next(request)
        }
    }
}
