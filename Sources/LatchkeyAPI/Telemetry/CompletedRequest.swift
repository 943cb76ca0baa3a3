public import HTTPTypes

/// A request that was answered. Tells neither of whom it was nor what it asked.
public struct CompletedRequest: Sendable {
    /// The number of its route in ``LatchkeyAPI/routePatterns``; nil where no route is.
    public let route: Int?
    public let method: HTTPRequest.Method
    public let status: Int
    public let nanoseconds: UInt64
}

/// Is told of every request as it is answered; has to be quick.
public typealias RequestObserver = @Sendable (CompletedRequest) -> Void

/// How many requests are handled, and how many are refused for being too many.
public struct RequestLoad: Sendable {
    /// Being handled now.
    public var underWay = 0
    /// Answered 503 because as many were being handled as may be.
    public var shed: UInt64 = 0
    /// Answered 429, by the limit that they were beyond; each limit is there, with 0 too.
    public var rateLimited: [(limit: String, count: UInt64)] = []

    public init() {}
}
