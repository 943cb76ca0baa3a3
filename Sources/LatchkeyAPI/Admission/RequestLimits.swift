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

    /// Requests of one address.
    public var perAddress: Quota?
    /// Sign-ins, registrations and refreshes of one address.
    public var signInsPerAddress: Quota?
    /// Sign-ins by redirect started from one address: each is stored until it ends, and needs no API key.
    public var startsPerAddress: Quota?
    /// Sign-ins by redirect started from one subnet, a /24 of IPv4 or a /48 of IPv6.
    public var startsPerSubnet: Quota?
    /// Requests with one API key.
    public var perAPIKey: Quota?
    /// Changes of one user's account.
    public var changesPerUser: Quota?
    /// Requests to a provider that ask one user on their phone, of all callers and instances together.
    public var promptsPerUser: Quota?
    /// Requests of one caller to providers other than carriers, for all users together, that led to no sign-in. A
    /// caller is an API key, or an address without one.
    public var promptsPerCaller: Quota?
    /// Requests in progress.
    public var requestsInProgress: Int?
    /// Proxies whose forwarding fields count.
    public var proxies = TrustedProxies()

    /// No limits.
    public init() {}
}
