package import HTTPTypes

/// A completed request, without data of the user or of the request.
package struct CompletedRequest: Sendable {
    /// The number of its route in ``LatchkeyAPI/routePatterns``; nil without a route.
    package let route: Int?
    package let method: HTTPRequest.Method
    package let status: Int
    package let nanoseconds: UInt64
}

/// Gets every completed request; must be fast.
package typealias RequestObserver = @Sendable (CompletedRequest) -> Void

/// Why a request was refused with 503 before any work was done for it.
package enum OverloadReason: String, Sendable {
    /// The limit of requests in progress.
    case concurrent
    /// The event loop has more to do than it can.
    case late
}

/// The requests in progress, and the requests refused by limits.
package struct RequestLoad: Sendable {
    package var inProgress = 0
    /// Requests refused with 503 because of overload, by reason; every reason is present, also with 0.
    package var shed: [(reason: OverloadReason, count: UInt64)] = []
    /// Requests refused with 429, by limit; every limit is present, also with 0.
    package var rateLimited: [(limit: String, count: UInt64)] = []

    package init() {}

    package var shedCount: UInt64 { shed.reduce(0) { $0 + $1.count } }
}
