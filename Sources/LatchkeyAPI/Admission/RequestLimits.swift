/// The limits of requests.
public struct RequestLimits: Sendable {
    /// `count` at once, and as many again in each `seconds`.
    public struct Quota: Sendable, Hashable {
        /// Requests.
        public let count: Int
        /// The period.
        public let seconds: Int

        /// A quota of `count` in `seconds`.
        public init(count: Int, seconds: Int) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// What is not in it has no limit.
    public var quotas: [RateLimit: Quota] = [:]
    /// Requests in progress.
    public var requestsInProgress: Int?
    /// Proxies whose forwarding fields count.
    public var proxies = TrustedProxies()

    /// No limits.
    public init() {}
}
