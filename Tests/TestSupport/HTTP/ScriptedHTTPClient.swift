public import Primitives
import Synchronization

/// An outbound client without a network: a closure responds, and the requests are kept.
public final class ScriptedHTTPClient: HTTPClient {
    public typealias Responder =
        @Sendable (_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse

    /// A struct around the closure, because reading a closure from a generic container wraps it again each time.
    private struct Script: Sendable {
        let respond: Responder
    }

    private let script: Mutex<Script>
    private let sent = Mutex<[OutboundRequest]>([])

    public init(_ respond: @escaping Responder) {
        script = Mutex(Script(respond: respond))
    }

    /// The requests so far, in order.
    public var requests: [OutboundRequest] { sent.withLock { $0 } }

    /// The requests whose URL begins with a prefix.
    public func requests(to prefix: String) -> [OutboundRequest] {
        requests.filter { $0.url.text.hasPrefix(prefix) }
    }

    /// Replaces the responder.
    public func answer(with respond: @escaping Responder) {
        script.withLock { $0 = Script(respond: respond) }
    }

    public func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        sent.withLock { $0.append(request) }
        return try await script.withLock { $0 }.respond(request)
    }
}

extension OutboundResponse {
    /// A response with a JSON text.
    public static func json(_ text: String, status: Int = 200, cacheControl: String? = nil) -> OutboundResponse {
        OutboundResponse(
            status: status, contentType: "application/json", cacheControl: cacheControl, body: Array(text.utf8))
    }
}
