public import OpenIDConnect
import Synchronization

/// An outbound client without a network: a closure answers, and what was sent is kept.
public final class ScriptedHTTPClient: HTTPClient {
    public typealias Answer =
        @Sendable (_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse

    /// A struct around the closure: a closure that is read from a generic place is wrapped anew each time.
    private struct Script: Sendable {
        let answer: Answer
    }

    private let script: Mutex<Script>
    private let sent = Mutex<[OutboundRequest]>([])

    public init(_ answer: @escaping Answer) {
        script = Mutex(Script(answer: answer))
    }

    /// What was sent so far, in order.
    public var requests: [OutboundRequest] { sent.withLock { $0 } }

    /// The requests whose URL begins so.
    public func requests(to prefix: String) -> [OutboundRequest] {
        requests.filter { $0.url.text.hasPrefix(prefix) }
    }

    /// Answers otherwise from now on.
    public func answer(with answer: @escaping Answer) {
        script.withLock { $0 = Script(answer: answer) }
    }

    public func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        sent.withLock { $0.append(request) }
        return try await script.withLock { $0 }.answer(request)
    }
}

extension OutboundResponse {
    /// An answer with a JSON text.
    public static func json(_ text: String, status: Int = 200, cacheControl: String? = nil) -> OutboundResponse {
        OutboundResponse(
            status: status, contentType: "application/json", cacheControl: cacheControl, body: Array(text.utf8))
    }
}
