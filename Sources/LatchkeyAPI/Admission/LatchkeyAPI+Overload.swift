package import HTTPServer
import HTTPTypes
import Logging

/// What is refused while an event loop has more to do than it can.
///
/// Requests that begin a sign-in are refused first: they cost most, and can be sent again. Requests that continue a
/// sign-in are refused only if that does not help.
extension LatchkeyAPI {
    enum OverloadPriority {
        /// It begins a sign-in: it is refused first.
        case beginning
        /// It is refused if it may have waited for longer than `mostDelay`.
        case other
        /// It is always served, because a refusal would cost about as much.
        case always
    }

    /// How long a request with the priority `other` may have waited. A request waits for its loop about four times.
    private static let mostDelay = Duration.milliseconds(200)

    /// The priorities of requests by method and pattern, beside ``APIFeature/startPaths``; of all others it is `other`.
    static let overloadPriorities: [(method: HTTPRequest.Method, pattern: String, priority: OverloadPriority)] = [
        (.post, "/auth/zenkey-signin", .beginning), (.post, "/auth/{provider}/sign-in", .beginning),
        (.post, "/auth/{provider}/attempts", .beginning),
        (.get, "/users/me", .always), (.post, "/auth/introspect", .always), (.get, "/auth/verify", .always),
        (.get, "/healthz", .always), (.get, "/readyz", .always), (.get, "/metrics", .always),
    ]

    /// Whether a request checks a session, as a server does for each of its requests.
    static func isSessionCheck(_ request: Request) -> Bool {
        let method = request.method == .head ? .get : request.method
        return overloadPriorities.contains { row in
            row.priority == .always && row.pattern == request.path && row.method == method
        }
    }

    package func loadShedder(observedBy observe: RequestObserver? = nil) -> LoadShedder {
        let router = makeRouter()
        let starts = features.flatMap { type(of: $0).startPaths }.flatMap { path in
            [HTTPRequest.Method.get, .post].map { ($0, path, OverloadPriority.beginning) }
        }
        let rows = Self.overloadPriorities + starts
        let priorities = router.patterns.map { pattern in rows.filter { $0.pattern == pattern } }
        return { request, delay in
            let number = router.match(request).number
            let method = request.method == .head ? .get : request.method
            switch number.flatMap({ priorities[$0].first { $0.method == method } })?.priority ?? .other {
            case .always: return nil
            case .other where delay <= Self.mostDelay: return nil
            case .other, .beginning: break
            }
            // A line for each would cost more than the refusal.
            if let count = self.rates.countLate() {
                self.accessLog.logger.warning(
                    "overloaded: requests are answered 503",
                    metadata: ["refused_since_start": .stringConvertible(count)])
            }
            let response = self.refusal(.overloaded, of: request)
            observe?(
                CompletedRequest(route: number, method: request.method, status: response.status.code, nanoseconds: 0))
            return response
        }
    }
}
