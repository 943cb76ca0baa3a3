/// How much is put up with, and from whom.
public struct RequestLimits: Sendable {
    /// So many at once, and as many again in so many seconds.
    public struct Quota: Sendable, Hashable {
        public let count: Int
        public let seconds: Int

        public init(count: Int, seconds: Int) {
            self.count = count
            self.seconds = seconds
        }
    }

    /// Requests of one address.
    public var perAddress: Quota?
    /// Sign-ins, registrations and refreshes of one address.
    public var signInsPerAddress: Quota?
    /// Sign-ins by redirect that are begun from one address: each is kept until it ends, and nobody needs a key for it.
    public var startsPerAddress: Quota?
    /// Requests with one API key.
    public var perAPIKey: Quota?
    /// Changes of one user's account.
    public var changesPerUser: Quota?
    /// Requests being handled at a time.
    public var requestsUnderWay: Int?
    /// Who may say for whom it asks.
    public var proxies = TrustedProxies()

    /// No limits.
    public init() {}
}
