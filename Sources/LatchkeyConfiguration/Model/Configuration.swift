public import OpenIDConnect
public import Primitives

/// All that an operator decides about a Latchkey, as values that were checked when they were read.
///
/// ``ConfigurationLoader`` makes one from a file and environment variables; a program may also start from the defaults
/// and set what it wants. Keys, types, defaults and meanings are listed in ``ConfigurationReference``.
public struct Configuration: Sendable {
    /// `http`: where to listen, and what to put up with.
    public var http = HTTP()
    /// `tls`: HTTPS beside it.
    public var tls = TLS()
    /// `public_url`: the base URL under which browsers and apps reach this server.
    public var publicURL: EndpointURL?
    /// `database`
    public var database = Database()
    /// `api_keys`: what API callers show in `X-API-KEY`.
    public var apiKeys: [APIKey] = []
    /// `zenkey`: the mobile carriers.
    public var zenkey = ZenKey()
    /// `providers`: ways to sign in beside the carriers.
    public var providers: [Provider] = []
    /// `registration` and `registration_rules`
    public var registration = Registration()
    /// `sessions`
    public var sessions = Sessions()
    /// `id_token`
    public var idToken = IDToken()
    /// `audit`
    public var audit = Audit()
    /// `transactions`
    public var transactions = Transactions()
    /// `vault`: the encryption of providers' tokens.
    public var vault = Vault()
    /// `outbound`: requests to carriers.
    public var outbound = Outbound()
    /// `allowed_origins`: web frontends on other origins that may call the API from a browser.
    public var allowedOrigins: [Origin] = []
    /// `allow_loopback_http`: lets carriers be reached by plain http on loopback addresses.
    public var allowsLoopbackHTTP = false
    /// `rate_limits`
    public var rateLimits = true
    /// `rate_limit_rules`
    public var rateLimitRules = RateLimitRules()
    /// `compat`
    public var compatibility = Compatibility()
    /// `metrics`
    public var metrics = Metrics()
    /// `log`
    public var log = Log()

    public init() {}

    /// What carriers' and providers' URLs may be besides https.
    public var endpointPolicy: EndpointURL.Policy { allowsLoopbackHTTP ? .allowLoopbackHTTP : .httpsOnly }
}

extension Configuration {
    /// Where and how to store.
    public struct Database: Sendable, Hashable {
        /// How sure a commit is to outlast a loss of power (SQLite's `PRAGMA synchronous`).
        public enum Synchronous: String, Sendable, CaseIterable {
            /// Every commit is on the disk before it is answered.
            case full
            /// The last commits before a loss of power may be lost; a crash of the process loses nothing.
            case normal
        }

        public var url = DatabaseURL.standard
        /// SQLite's only.
        public var synchronous = Synchronous.full
        /// Connections to PostgreSQL.
        public var poolSize = 8
        /// For one statement on PostgreSQL.
        public var statementTimeout = Duration.seconds(5)

        public init() {}
    }

    /// Limits on the rate of requests; nil for none.
    public struct RateLimitRules: Sendable, Hashable {
        /// Enough for the phones of a town behind one address of their carrier's.
        public var perAddress: Quota? = Quota(count: 5000, seconds: 10)
        public var signInsPerAddress: Quota? = Quota(count: 1000, seconds: 10)
        /// Sign-ins by redirect that one address begins.
        public var startsPerAddress: Quota? = Quota(count: 200, seconds: 10)
        /// A key is an app's, with all of its users.
        public var perAPIKey: Quota?
        public var changesPerUser: Quota? = Quota(count: 60, seconds: 60)

        public init() {}
    }

    /// Who becomes a user.
    public struct Registration: Sendable, Hashable {
        public enum Mode: String, Sendable, CaseIterable {
            /// An unknown subject becomes a user.
            case automatic
            /// An unknown subject has to register first.
            case required
        }

        /// What a registration can ask for; spelled as in the API.
        public enum Attribute: String, Sendable, CaseIterable {
            case name
            case givenName = "given_name"
            case familyName = "family_name"
            case email
            case phone
            case postalCode = "postal_code"
        }

        public var mode = Mode.automatic
        /// Attributes without which a registration is refused.
        public var requiredAttributes: [Attribute] = []
        /// Domains, in lower case, whose addresses cannot register.
        public var blockedEmailDomains: [String] = []

        public init() {}
    }

    /// How long sessions live.
    public struct Sessions: Sendable, Hashable {
        public var accessLifetime = Duration.seconds(3600)
        public var refreshLifetime = Duration.seconds(30 * 86_400)
        /// For a session that is not refreshed.
        public var idleTimeout = Duration.seconds(14 * 86_400)
        /// For a session, however often it is refreshed.
        public var absoluteTimeout = Duration.seconds(90 * 86_400)
        public var refreshGrace = Duration.seconds(30)
        /// Of the sign-in of a session whose user adds a way to sign in.
        public var maximumAgeToLink = Duration.seconds(900)

        public init() {}
    }

    /// What is demanded of ID tokens.
    public struct IDToken: Sendable, Hashable {
        public var clockSkew = Duration.seconds(60)
        public var maximumAgeOfIssue = Duration.seconds(600)

        public init() {}
    }

    /// The record of what was done to accounts.
    public struct Audit: Sendable, Hashable {
        public var retention = Duration.seconds(400 * 86_400)

        public init() {}
    }

    /// How requests to carriers are made.
    public struct Outbound: Sendable, Hashable {
        /// Each for the whole exchange.
        public struct Timeouts: Sendable, Hashable {
            public var discovery = Duration.seconds(5)
            public var keys = Duration.seconds(5)
            public var token = Duration.seconds(10)
            public var userInfo = Duration.seconds(5)

            public init() {}
        }

        /// When a carrier that does not answer is left alone.
        public struct CircuitBreaker: Sendable, Hashable {
            /// Times in a row without an answer.
            public var failures = 5
            /// For how long at first; each failed try after it doubles it, up to a minute.
            public var pause = Duration.seconds(5)

            public init() {}
        }

        public var timeouts = Timeouts()
        public var circuitBreaker = CircuitBreaker()
        public var connectionsPerHost = 64
        /// Under way at once, those that wait for a connection among them.
        public var requestsPerCarrier = 256
        public var allowsPrivateNetworks = false
        /// A file of PEM certificates to trust instead of the system's.
        public var certificateAuthorities: String?
        /// The URL of a proxy; secret, because it may hold a password.
        public var proxy: Secret?

        public init() {}
    }

    /// Where answers follow the published example API.
    public struct Compatibility: Sendable, Hashable {
        /// The outcome of a server-initiated sign-in is answered with 302 instead of 200.
        public var async302 = false
        /// The paths of Zephr's OAuth sign-in are there, too.
        public var zephr = false

        public init() {}
    }

    /// What is logged, and how.
    public struct Log: Sendable, Hashable {
        public enum Format: String, Sendable, CaseIterable { case text, json }

        public var level = LogLevel.info
        public var format = Format.text

        public init() {}
    }
}
