import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import OpenIDConnect
import OutboundHTTP
import Primitives
import SignIn
import Storage
import StorageModel

// What an operator decided, in the words of each module.

extension Configuration {
    /// - Parameters:
    ///   - tls: What HTTPS is served with; nil where it is not.
    ///   - metricsHandler: Answers on the metrics' own address.
    func server(_ tls: ServerTLS?, metricsHandler: @escaping Handler) -> ServerConfiguration {
        var limits = ServerLimits()
        limits.connections = http.limits.connections
        limits.connectionsPerAddress = http.limits.connectionsPerAddress
        limits.requestsPerConnection = http.limits.requestsPerConnection
        limits.requestLineBytes = http.limits.requestLineBytes
        limits.headerBytes = http.limits.headerBytes
        limits.headerFields = http.limits.headerFields
        limits.bodyBytes = http.limits.bodyBytes
        var timeouts = ServerTimeouts()
        timeouts.header = http.timeouts.header
        timeouts.body = http.timeouts.body
        timeouts.idle = http.timeouts.idle
        timeouts.write = http.timeouts.write
        limits.handshakes = self.tls.handshakes
        timeouts.handshake = self.tls.handshakeTimeout
        var server = ServerConfiguration(
            hosts: http.hosts, port: http.port, loops: http.loops, limits: limits, timeouts: timeouts)
        if let tls { server.listeners += encryptedListeners(tls) }
        if let port = metrics.port {
            server.listeners.append(ListeningPoint(hosts: metrics.hosts, port: port, handler: metricsHandler))
        }
        return server
    }

    private func encryptedListeners(_ served: ServerTLS) -> [ListeningPoint] {
        let hosts = tls.hosts.isEmpty ? http.hosts : tls.hosts
        var points = [ListeningPoint(hosts: hosts, port: tls.port, kind: .tls(served))]
        if let port = tls.redirectPort, let origin = BaseURL(publicURL?.text).origin {
            points.append(ListeningPoint(hosts: hosts, port: port, kind: .redirect(origin: origin)))
        }
        return points
    }

    var outboundHTTP: OutboundHTTPConfiguration {
        var configuration = OutboundHTTPConfiguration()
        configuration.perHostConnections = outbound.connectionsPerHost
        configuration.addressPolicy = AddressPolicy(
            allowLoopback: allowsLoopbackHTTP, allowPrivateNetworks: outbound.allowsPrivateNetworks)
        configuration.allowLoopbackHTTP = allowsLoopbackHTTP
        configuration.caBundle = outbound.certificateAuthorities
        configuration.userAgent = "latchkey/\(LatchkeyVersion.text)"
        configuration.proxy = outbound.proxy?.exposed
        return configuration
    }

    var acceptedKeys: APIKeys {
        APIKeys(
            apiKeys.compactMap { key in
                let grant = APIGrant(
                    name: key.name, clients: key.clients.isEmpty ? nil : Set(key.clients.map(\.text)),
                    origins: key.origins.isEmpty ? nil : Set(key.origins.map(\.text)),
                    isOperator: key.isOperator)
                switch key.proof {
                case .plain(let text): return text.exposed.isEmpty ? nil : (TokenHash(sha256Of: text.exposed), grant)
                case .sha256(let hash): return TokenHash(hash).map { ($0, grant) }
                }
            })
    }

    var requestLimits: RequestLimits {
        var limits = RequestLimits()
        limits.requestsUnderWay = http.limits.requestsUnderWay
        limits.proxies = TrustedProxies(
            http.trustedProxies, field: http.forwardedField == .forwarded ? .forwarded : .xForwardedFor)
        guard rateLimits else { return limits }
        limits.perAddress = rateLimitRules.perAddress.map(RequestLimits.Quota.init)
        limits.signInsPerAddress = rateLimitRules.signInsPerAddress.map(RequestLimits.Quota.init)
        limits.startsPerAddress = rateLimitRules.startsPerAddress.map(RequestLimits.Quota.init)
        limits.perAPIKey = rateLimitRules.perAPIKey.map(RequestLimits.Quota.init)
        limits.changesPerUser = rateLimitRules.changesPerUser.map(RequestLimits.Quota.init)
        return limits
    }

    /// The clients that an origin may call the API for without an API key, by origin.
    var clientOrigins: [String: Set<String>] {
        var clients: [String: Set<String>] = [:]
        for client in allClients {
            for origin in client.allowedOrigins { clients[origin.text, default: []].insert(client.id.text) }
        }
        return clients
    }

    /// What only operators get to see.
    func operatorPages(
        metrics page: @escaping @Sendable () async -> [UInt8], status: @escaping @Sendable () async -> ServiceStatus
    ) -> OperatorPages {
        var pages = OperatorPages()
        pages.metrics = page
        pages.status = status
        pages.servesMetricsHere = metrics.port == nil
        pages.allowedAddresses = metrics.allowedAddresses
        return pages
    }

    /// The database in the words of its engine.
    enum Engine {
        case sqlite(SQLiteConfiguration)
        case postgres(PostgresConfiguration)
    }

    var engine: Engine {
        switch database.url {
        case .sqlite(let path):
            .sqlite(SQLiteConfiguration(path: path, synchronous: database.synchronous == .full ? .full : .normal))
        case .postgres(let url):
            .postgres(
                PostgresConfiguration(
                    url: url.secret, poolSize: database.poolSize, statementTimeout: database.statementTimeout))
        }
    }

    func relyingParty(discoveryURL: EndpointURL) -> RelyingParty.Configuration {
        var configuration = limited(RelyingParty.Configuration(discoveryURL: discoveryURL))
        configuration.trustedHosts = zenkey.trustedHosts
        configuration.pinnedIssuers = zenkey.issuers.mapValues(\.text)
        return configuration
    }

    func relyingParty(of provider: Provider) -> RelyingParty.Configuration {
        guard let endpoints = provider.endpoints else {
            return limited(RelyingParty.Configuration(issuer: provider.issuer))
        }
        return limited(
            RelyingParty.Configuration(
                issuer: provider.issuer, authorizationEndpoint: endpoints.authorization, tokenEndpoint: endpoints.token,
                userEndpoint: endpoints.user))
    }

    /// One for each way to sign in, under its name in paths.
    func relyingParties(
        http: any HTTPClient, clock: WallClock, metrics: CarrierMetrics
    ) -> [String: RelyingParty] {
        var parties: [String: RelyingParty] = [:]
        if let discoveryURL = zenkey.discoveryURL {
            parties["zenkey"] = RelyingParty(
                configuration: relyingParty(discoveryURL: discoveryURL), http: http, clock: clock,
                observer: metrics.observer(of: "zenkey", isOfCarriers: true))
        }
        for provider in providers {
            parties[provider.id] = RelyingParty(
                configuration: relyingParty(of: provider), http: http, clock: clock,
                observer: metrics.observer(of: provider.id, isOfCarriers: false))
        }
        return parties
    }

    private func limited(_ base: RelyingParty.Configuration) -> RelyingParty.Configuration {
        var configuration = base
        configuration.urlPolicy = endpointPolicy
        configuration.idTokenRules.clockSkewSeconds = idToken.clockSkew.components.seconds
        configuration.idTokenRules.maximumAgeSeconds = idToken.maximumAgeOfIssue.components.seconds
        configuration.bulkhead.maximumUnderWay = outbound.requestsPerCarrier
        configuration.bulkhead.failures = outbound.circuitBreaker.failures
        configuration.bulkhead.pause = outbound.circuitBreaker.pause.components.seconds
        configuration.limits.discoveryTimeout = outbound.timeouts.discovery
        configuration.limits.keysTimeout = outbound.timeouts.keys
        configuration.limits.tokenTimeout = outbound.timeouts.token
        configuration.limits.userInfoTimeout = outbound.timeouts.userInfo
        return configuration
    }

    var signIn: SignInConfiguration {
        var configuration = SignInConfiguration(providers: signInProviders)
        configuration.registration.isRequired = registration.mode == .required
        configuration.registration.requiredAttributes = registration.requiredAttributes.compactMap {
            RegistrationRules.Attribute(rawValue: $0.rawValue)
        }
        configuration.registration.blockedEmailDomains = registration.blockedEmailDomains
        configuration.lifetimes.access = sessions.accessLifetime.components.seconds
        configuration.lifetimes.refresh = sessions.refreshLifetime.components.seconds
        configuration.lifetimes.idle = sessions.idleTimeout.components.seconds
        configuration.lifetimes.absolute = sessions.absoluteTimeout.components.seconds
        configuration.lifetimes.refreshGrace = sessions.refreshGrace.components.seconds
        configuration.lifetimes.signInToLink = sessions.maximumAgeToLink.components.seconds
        configuration.transactions = transactionRules
        configuration.vaultKeys = vaultKeys
        return configuration
    }

    private var signInProviders: [String: SignInConfiguration.Provider] {
        var providers: [String: SignInConfiguration.Provider] = [:]
        if zenkey.discoveryURL != nil {
            var carriers = SignInConfiguration.Provider(
                clients: zenkey.clients.map(SignInConfiguration.Client.init), discoveryUI: zenkey.discoveryUIURL)
            carriers.authorizationURL = zenkey.authorizationURL
            providers["zenkey"] = carriers
        }
        for provider in self.providers {
            var known = SignInConfiguration.Provider(
                kind: .init(provider.kind), name: provider.name,
                clients: provider.clients.map(SignInConfiguration.Client.init))
            known.responseMode = provider.responseMode == .query ? nil : provider.responseMode.rawValue
            known.storesTokens = provider.storesTokens
            known.resources = provider.resources
            known.endsSessions = provider.backChannelLogout
            providers[provider.id] = known
        }
        return providers
    }

    var vaultKeys: [EncryptionKey] { vault.encryptionKeyBytes.compactMap { EncryptionKey($0) } }

    private var transactionRules: SignInConfiguration.Transactions {
        var rules = SignInConfiguration.Transactions()
        rules.maximumAuthenticationAge = transactions.maximumAuthenticationAge.components.seconds
        rules.receiptLifetime = transactions.receiptLifetime.components.seconds
        rules.keyLifetime = transactions.keyLifetime.components.seconds
        rules.encryptionKeys = transactions.encryptionKeyBytes.compactMap { EncryptionKey($0) }
        if let publicURL { rules.issuer = publicURL.text }
        return rules
    }
}

extension Compatibility {
    init(_ configured: Configuration.Compatibility) {
        self.init()
        async302 = configured.async302
        zephr = configured.zephr
    }
}

extension RequestLimits.Quota {
    fileprivate init(_ quota: Quota) {
        self.init(count: quota.count, seconds: quota.seconds)
    }
}

extension SignInConfiguration.Provider.Kind {
    fileprivate init(_ kind: Configuration.Provider.Kind) {
        switch kind {
        case .oidc: self = .oidc
        case .oauth2: self = .oauth2
        }
    }
}

extension SignInConfiguration.Client {
    fileprivate init(_ client: Configuration.Client) {
        self.init(id: client.id, authentication: client.authentication)
        redirectURIs = client.redirectURIs
        scopes = client.scopes
        pkce = client.pkce == .required ? .required : .optional
        nonce = client.nonce == .issued ? .issued : .client
        sessions.access = client.sessions.accessLifetime?.components.seconds
        sessions.refresh = client.sessions.refreshLifetime?.components.seconds
        sessions.idle = client.sessions.idleTimeout?.components.seconds
        sessions.absolute = client.sessions.absoluteTimeout?.components.seconds
        signingKey = client.signingKey
    }
}
