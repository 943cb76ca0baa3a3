public import OpenIDConnect
import Synchronization

/// An outbound client without a network: a closure answers, and what was sent is kept.
public final class ScriptedHTTPClient: HTTPClient {
    public typealias Answer =
        @Sendable (_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse

    private let answer: Mutex<Answer>
    private let sent = Mutex<[OutboundRequest]>([])

    public init(_ answer: @escaping Answer) {
        self.answer = Mutex(answer)
    }

    /// What was sent so far, in order.
    public var requests: [OutboundRequest] { sent.withLock { $0 } }

    /// The requests whose URL begins so.
    public func requests(to prefix: String) -> [OutboundRequest] {
        requests.filter { $0.url.text.hasPrefix(prefix) }
    }

    /// Answers otherwise from now on.
    public func answer(with answer: @escaping Answer) {
        self.answer.withLock { $0 = answer }
    }

    public func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        sent.withLock { $0.append(request) }
        let answer = answer.withLock { $0 }
        return try await answer(request)
    }
}

extension OutboundResponse {
    /// An answer with a JSON text.
    public static func json(_ text: String, status: Int = 200, cacheControl: String? = nil) -> OutboundResponse {
        OutboundResponse(
            status: status, contentType: "application/json", cacheControl: cacheControl, body: Array(text.utf8))
    }
}
