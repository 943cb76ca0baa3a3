public import HTTPServer
public import LatchkeyAPI
public import Observability
public import OpenIDConnect
public import Primitives
public import SignIn
public import StorageModel

/// Everything an administrator decides about a Latchkey, checked when it is read.
///
/// ``ConfigurationLoader`` makes one from a file and environment variables; a program may also start from the defaults
/// and set what it wants. ``ConfigurationReference`` lists the keys with their types, defaults and meanings.
public struct Configuration: Sendable {
    /// `http`: the addresses, limits and timeouts of the server.
    public var http = HTTP()
    /// `tls`: HTTPS, beside plain HTTP.
    public var tls = TLS()
    /// `public_url`: the base URL of this server as browsers and apps know it.
    public var publicURL: EndpointURL?
    /// `database`
    public var database = Database()
    /// `api_keys`: the keys that API callers send in `X-API-KEY`.
    public var apiKeys: [APIKey] = []
    /// `zenkey`: the mobile carriers.
    public var zenkey = ZenKey()
    /// `providers`: ways to sign in other than the carriers.
    public var providers: [Provider] = []
    /// `registration` and `registration_rules`
    public var registration = RegistrationRules()
    /// `sessions`
    public var sessions = SignInConfiguration.Lifetimes()
    /// `id_token`
    public var idToken = IDTokenRules()
    /// `audit.retention`: how long the audit log is kept.
    public var auditRetention = Duration.seconds(400 * 86_400)
    /// `audit.sign_ins`: whether the audit log has every sign-in, registration and sign-out.
    public var auditsSignIns = true
    /// `transactions.key_lifetime` and `transactions.encryption_keys`.
    public var signingKeys = SignInConfiguration.SigningKeys()
    /// `encryption_keys`: encrypt providers' tokens, users' claims and the signing keys of receipts in the database.
    /// The first encrypts, all decrypt.
    public var encryptionKeys: [EncryptionKey] = []
    /// `vault.encryption_keys` of earlier versions: keys of providers' tokens and users' claims alone, behind
    /// ``encryptionKeys``. The signing keys' alone are in ``signingKeys``.
    public var formerVaultKeys: [EncryptionKey] = []
    /// The keys that encrypt providers' tokens and users' claims.
    package var vaultKeys: [EncryptionKey] { encryptionKeys + formerVaultKeys }
    /// The keys that encrypt the signing keys of receipts.
    package var keysOfSigningKeys: [EncryptionKey] { encryptionKeys + signingKeys.encryptionKeys }
    /// `outbound`: requests to providers.
    public var outbound = Outbound()
    /// `allowed_origins`: web frontends on other origins that may call the API from a browser.
    public var allowedOrigins: [Origin] = []
    /// `console`: whether the front page is the developer console, rather than the sign-in page.
    public var hasConsole = false
    /// `files.directory`: a folder whose files are served beside the program's, and in their place.
    public var filesDirectory: String?
    /// `allow_loopback_http` and `plain_http_hosts`: which URLs providers may have besides https.
    public var endpointPolicy = EndpointURL.Policy.httpsOnly
    /// `rate_limits.enabled`: whether the quotas of ``requestLimits`` apply.
    public var rateLimits = true
    /// `rate_limits`, `http.limits.max_concurrent_requests`, `http.trusted_proxies` and `http.forwarded_field`.
    public var requestLimits = Configuration.defaultLimits
    /// `compat`
    public var compatibility = Compatibility()
    /// `metrics`
    public var metrics = Metrics()
    /// `log`
    public var log = Log()
    /// `debug.memory_dumps`: whether `latchkey serve` lets core dumps and debuggers read its memory.
    public var allowsMemoryDumps = false

    /// The keys that it has values of.
    package internal(set) var settings = Settings.core
    /// The settings of features.
    var features = FeatureValues()

    public init() {}

    /// The limits of the server: ``HTTP/limits`` with the connections of one address.
    public var serverLimits: ServerLimits {
        var limits = http.limits
        switch http.connectionShare {
        case .automatic:
            // A program may have set it.
            guard limits.connectionsPerAddress == nil else { break }
            limits.connectionsPerAddress = max(1, limits.connections / 4)
            // A reverse proxy has the connections of all its clients, and may be on this machine.
            limits.addressesWithoutShare = IPAddressRange.loopback + requestLimits.proxies.ranges
        case .unlimited: limits.connectionsPerAddress = nil
        case .atMost(let count): limits.connectionsPerAddress = count
        }
        return limits
    }

    private static var defaultLimits: RequestLimits {
        var limits = RequestLimits()
        for limit in RateLimit.all { limits.quotas[limit] = limit.usual }
        limits.requestsInProgress = 2048
        return limits
    }

    /// The HTTP server.
    public struct HTTP: Sendable {
        /// Names or addresses to bind; an IPv6 address without brackets.
        public var hosts = ["127.0.0.1"]
        /// 0 lets the system choose.
        public var port: UInt16 = 8080
        /// Event loops; 0 makes one for each processor, up to 64.
        public var loops = 0
        /// `http.limits` and `tls.max_handshakes`; ``Configuration/serverLimits`` adds ``connectionShare``.
        public var limits = ServerLimits()
        /// `http.limits.max_connections_per_address`
        public var connectionShare = ConnectionShare.automatic
        /// `http.timeouts` and `tls.handshake_timeout`
        public var timeouts = ServerTimeouts()
        /// From SIGTERM until the remaining connections are closed.
        public var drainTimeout = Duration.seconds(30)

        /// How many connections one address may have.
        public enum ConnectionShare: Sendable, Hashable {
            /// A quarter of all connections for an address of another machine; any number if there are trusted proxies,
            /// which have the connections of all their clients.
            case automatic
            case unlimited
            /// So many, also for addresses of this machine.
            case atMost(Int)
        }
    }

    /// Where and how to store.
    public struct Database: Sendable, Hashable {
        /// The database.
        public var url = DatabaseURL.standard
        /// The same database on PostgreSQL, by a pooler in transaction mode.
        public var poolerURL: DatabaseURL?
        /// For SQLite only.
        public var synchronous = Synchronous.full
        /// The most connections to PostgreSQL, 2 to 256.
        public var poolSize = 8
        /// For one statement on PostgreSQL.
        public var statementTimeout = Duration.seconds(5)
        /// How long a call may wait for a connection.
        public var maximumWait = Duration.seconds(5)

        public init() {}

        /// The URLs of PostgreSQL with their keys: ``url``, then ``poolerURL``.
        package var postgresURLs: [(key: String, url: PostgresURL)] {
            [("database.url", url), ("database.pooler_url", poolerURL)].compactMap { key, url in
                guard case .postgres(let url) = url else { return nil }
                return (key, url)
            }
        }
    }

    /// Requests to providers.
    public struct Outbound: Sendable, Hashable {
        /// `outbound.timeouts`
        public var limits = OutboundLimits()
        /// `outbound.max_requests_per_carrier` and `outbound.circuit_breaker`
        public var bulkhead = CarrierBulkheadRules()
        /// The most connections to one host.
        public var connectionsPerHost = 64
        /// Whether a provider's URL may resolve to a private address.
        public var allowsPrivateNetworks = false
        /// A file of PEM certificates to trust instead of the system's.
        public var certificateAuthorities: String?
        /// A file of PEM certificates to trust besides the others.
        public var additionalAuthorities: String?
        /// The URL of a proxy; secret, because it may hold a password.
        public var proxy: Secret?
    }

    /// Where metrics are served, and to which addresses.
    public struct Metrics: Sendable, Hashable {
        /// The addresses to bind for ``port``.
        public var hosts = ["127.0.0.1"]
        /// A port for metrics alone; 0 lets the system choose. Nil serves them with the API, to ``allowedAddresses``.
        public var port: UInt16?
        /// The addresses that may read the metrics where they are served with the API.
        public var allowedAddresses = IPAddressRange.loopback
    }

    /// What is logged, and in which format.
    public struct Log: Sendable, Hashable {
        /// The lowest severity that is logged.
        public var level = LogLevel.info
        /// How a line is written.
        public var format = LogFormat.text
    }
}
