import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import Logging
import OpenIDConnect
import OutboundHTTP
import Primitives
import SignIn
import Storage
import StorageModel

// The values of the modules that are made of several settings.

extension Configuration {
    /// - Parameters:
    ///   - encryption: The certificate of HTTPS; nil where it is not served.
    ///   - metricsHandler: Answers on the metrics' own port.
    func server(_ encryption: ServerTLS?, metricsHandler: @escaping Handler) -> ServerConfiguration {
        var server = ServerConfiguration(
            hosts: http.hosts, port: http.port, loops: http.loops, limits: serverLimits, timeouts: http.timeouts)
        server.probePaths = LatchkeyAPI.probePaths
        if let encryption {
            let hosts = tls.hosts.isEmpty ? http.hosts : tls.hosts
            server.listeners.append(ListeningPoint(hosts: hosts, port: tls.port, kind: .tls(encryption)))
            if let port = tls.redirectPort, let origin = BaseURL(publicURL?.text).origin {
                server.listeners.append(ListeningPoint(hosts: hosts, port: port, kind: .redirect(origin: origin)))
            }
        }
        if let port = metrics.port {
            server.listeners.append(ListeningPoint(hosts: metrics.hosts, port: port, handler: metricsHandler))
        }
        return server
    }

    var outboundHTTP: OutboundHTTPConfiguration {
        var configuration = OutboundHTTPConfiguration()
        configuration.perHostConnections = outbound.connectionsPerHost
        configuration.addressPolicy = AddressPolicy(
            allowLoopback: allowsLoopbackHTTP, allowPrivateNetworks: outbound.allowsPrivateNetworks)
        configuration.allowLoopbackHTTP = allowsLoopbackHTTP
        configuration.caBundle = outbound.certificateAuthorities
        configuration.additionalCABundle = outbound.additionalAuthorities
        configuration.userAgent = "latchkey/\(LatchkeyVersion.text)"
        configuration.proxy = outbound.proxy?.exposed
        return configuration
    }

    var acceptedKeys: APIKeys {
        APIKeys(
            apiKeys.compactMap { key in
                let grant = APIGrant(
                    name: key.name, clients: key.clients.isEmpty ? nil : Set(key.clients.map(\.text)),
                    origins: key.origins.isEmpty ? nil : Set(key.origins.map(\.text)), isOperator: key.isOperator)
                switch key.proof {
                case .plain(let text): return text.exposed.isEmpty ? nil : (TokenHash(sha256Of: text.exposed), grant)
                case .sha256(let hash): return TokenHash(hash).map { ($0, grant) }
                }
            })
    }

    /// ``requestLimits`` without the quotas where ``rateLimits`` is off.
    var effectiveLimits: RequestLimits {
        guard !rateLimits else { return requestLimits }
        var limits = RequestLimits()
        limits.requestsInProgress = requestLimits.requestsInProgress
        limits.proxies = requestLimits.proxies
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

    /// The pages that only operators see.
    func operatorPages(
        metrics page: @escaping @Sendable () async -> [UInt8], status: @escaping @Sendable () async -> ServiceStatus,
        capsule: @escaping @Sendable (_ failure: String) async throws -> ShownCapsule?
    ) -> OperatorPages {
        var pages = OperatorPages()
        pages.metrics = page
        pages.status = status
        pages.capsule = capsule
        pages.servesMetricsHere = metrics.port == nil
        pages.allowedAddresses = metrics.allowedAddresses
        return pages
    }

    var databaseLocation: DatabaseLocation {
        switch database.url {
        case .sqlite(let path):
            .sqlite(
                SQLiteConfiguration(
                    path: path, synchronous: database.synchronous, maximumWait: database.maximumWait))
        case .postgres(let url):
            .postgres(
                PostgresConfiguration(
                    url: url.secret, poolSize: database.poolSize, statementTimeout: database.statementTimeout,
                    maximumWait: database.maximumWait))
        }
    }

    /// The relying party of the mobile carriers.
    func relyingParty(discoveryURL: EndpointURL) -> RelyingParty.Configuration {
        var carriers = completed(RelyingParty.Configuration(discoveryURL: discoveryURL))
        carriers.idTokenRules.types = zenkey.idTokenTypes
        carriers.portTokenRules.requiresType = zenkey.requiresPortTokenType
        carriers.trustedHosts = zenkey.trustedHosts
        carriers.pushedAuthorizationRequests = zenkey.pushedAuthorizationRequests
        carriers.dpop = zenkey.dpop
        carriers.mutualTLS = zenkey.mutualTLS
        carriers.signedRequestObjects = zenkey.signedRequestObjects
        carriers.pinnedIssuers = zenkey.issuers.mapValues(\.text)
        carriers.signingAlgorithms = Self.signingAlgorithms(of: zenkey.clients)
        return carriers
    }

    func relyingParty(of provider: Provider) -> RelyingParty.Configuration {
        guard let endpoints = provider.endpoints else {
            var configuration = completed(RelyingParty.Configuration(issuer: provider.issuer))
            configuration.idTokenRules.types = provider.idTokenTypes
            configuration.pushedAuthorizationRequests = provider.pushedAuthorizationRequests
            configuration.dpop = provider.dpop
            configuration.mutualTLS = provider.mutualTLS
            // Operators agree with each client whether it must use DPoP (CAMARA Security and Interoperability Profile
            // r4.2, section "Sender-Constrained Tokens"). Their metadata tells only that they support it.
            configuration.prefersBoundTokens = provider.storesTokens || provider.mobileOperator != nil
            configuration.signedRequestObjects = provider.signedRequestObjects
            // The operator's API names the user, too.
            configuration.requiresIDTokens = provider.mobileOperator == nil
            configuration.signedBackchannelRequests =
                provider.mustSignBackchannelRequests ? .always : provider.signedRequestObjects
            configuration.signingAlgorithms = Self.signingAlgorithms(of: provider.clients)
            return configuration
        }
        return completed(
            RelyingParty.Configuration(
                issuer: provider.issuer, authorizationEndpoint: endpoints.authorization, tokenEndpoint: endpoints.token,
                userEndpoint: endpoints.user))
    }

    /// What the token of a capsule is judged by at a provider, which the capsule names.
    func replaySettings(of provider: String) -> ReplaySettings {
        if provider == ZenKey.name, let discoveryURL = zenkey.discoveryURL {
            return ReplaySettings(zenkey.clients, relyingParty(discoveryURL: discoveryURL))
        }
        let known = providers.first { $0.id == provider }
        return ReplaySettings(known?.clients, known.map { relyingParty(of: $0) })
    }

    /// The relying party of a Telco Finder, which only gives tokens to this server itself.
    func relyingParty(of finder: TelcoFinderRules) -> RelyingParty.Configuration {
        var configuration = completed(RelyingParty.Configuration(issuer: finder.issuer))
        configuration.prefersBoundTokens = true
        return configuration
    }

    private static func signingAlgorithms(of clients: [Client]) -> Set<SigningAlgorithm> {
        clients.reduce(into: []) { $0.formUnion($1.signingAlgorithms) }
    }

    private func completed(_ base: RelyingParty.Configuration) -> RelyingParty.Configuration {
        var configuration = base
        configuration.urlPolicy = endpointPolicy
        configuration.idTokenRules = idToken
        configuration.bulkhead = outbound.bulkhead
        configuration.limits = outbound.limits
        return configuration
    }

    /// The providers of sign-ins, each with its relying party.
    func signInProviders(
        http: any HTTPClient, store: any IssuerBindingStore, clock: WallClock, metrics: CarrierMetrics,
        stories: SignInStories?, logger: Logger
    ) -> Providers {
        func party(
            _ settings: RelyingParty.Configuration, _ name: String, _ bindings: any IssuerBindings
        ) -> RelyingParty {
            RelyingParty(
                configuration: settings, http: http, bindings: bindings, clock: clock,
                observer: metrics.observer(
                    of: name, usesNetworkDiscovery: settings.usesNetworkDiscovery, stories: stories, clock: clock,
                    logger: logger))
        }
        var all: [SignIn.Provider] = []
        if let discoveryURL = zenkey.discoveryURL {
            let bindings = StoredIssuerBindings(store: store, clock: clock)
            let server = AuthorizationServer(
                party(relyingParty(discoveryURL: discoveryURL), ZenKey.name, bindings), clients: zenkey.clients)
            let carriers = SignIn.Provider.Carriers(
                discoveryUI: zenkey.discoveryUIURL, authorizationURL: zenkey.authorizationURL)
            all.append(.init(name: ZenKey.name, title: "ZenKey", kind: .carriers(carriers, server)))
        }
        var operators: [String: [MobileOperator]] = [:]
        for provider in providers {
            let server = provider.server(party(relyingParty(of: provider), provider.id, MemoryIssuerBindings()))
            if let settings = provider.mobileOperator {
                operators[provider.path, default: []].append(MobileOperator(settings, server))
            } else {
                let kind: SignIn.Provider.Kind =
                    provider.kind == .oauth2 ? .oauth2(server) : .openID(provider.openID, server)
                all.append(.init(name: provider.id, title: provider.name, kind: kind))
            }
        }
        for (path, operators) in operators {
            let finder = telcoFinders[path].map { finder in
                let name = ProviderReference.telcoFinder(of: path).text
                return OperatorFinder(finder, party(relyingParty(of: finder), name, MemoryIssuerBindings()))
            }
            let title = providers.first { $0.path == path }?.name ?? path
            all.append(.init(name: path, title: title, kind: .mobileOperators(operators, finder)))
        }
        return Providers(all)
    }

    var signIn: SignInConfiguration {
        var configuration = SignInConfiguration()
        configuration.registration = registration
        configuration.lifetimes = sessions
        configuration.backchannelAuthentication.limits = backchannelAuthentication
        configuration.maximumPendingStarts = maximumPendingStarts
        configuration.transactions = transactions
        if let publicURL { configuration.transactions.issuer = publicURL.text }
        configuration.vaultKeys = vaultKeys
        configuration.auditsSignIns = auditsSignIns
        configuration.transactions.encryptionKeys = keysOfSigningKeys
        return configuration
    }
}

extension Configuration.Provider {
    /// What signs users in there.
    fileprivate func server(_ relyingParty: RelyingParty) -> AuthorizationServer {
        var server = AuthorizationServer(relyingParty, clients: clients)
        server.responseMode = responseMode
        server.requiresIssuer = requiresIssuer
        server.storesTokens = storesTokens
        server.resources = resources
        return server
    }

    /// What only an OpenID provider has.
    fileprivate var openID: SignIn.Provider.OpenID {
        var openID = SignIn.Provider.OpenID()
        openID.loginInitiation = loginInitiationClient.map { .init(issuer: issuer.text, clientID: $0) }
        openID.backchannelTokenDeliveryMode = backchannelTokenDelivery.mode
        openID.requiresBindingMessage = profile != nil
        openID.endsSessions = backchannelLogout
        openID.keepsIDTokens = idTokenHint
        return openID
    }
}
