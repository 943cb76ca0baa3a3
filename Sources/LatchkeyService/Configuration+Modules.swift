import HTTPServer
import LatchkeyAPI
package import LatchkeyConfiguration
import Logging
package import OpenIDConnect
package import OutboundHTTP
import Primitives
import SignIn
package import Storage
import StorageModel

// The values of the modules that are made of several settings.

extension Configuration {
    /// `iss` of what this server signs, and the `issuer` of its metadata: `public_url` without a slash at its end.
    package var issuer: String? { BaseURL(publicURL?.text).url }

    /// - Parameter encryption: The certificate of HTTPS; nil where it is not served.
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

    package var outboundHTTP: OutboundHTTPConfiguration {
        var configuration = OutboundHTTPConfiguration()
        configuration.perHostConnections = outbound.connectionsPerHost
        configuration.addressPolicy = AddressPolicy(
            allowLoopback: endpointPolicy.allowsLoopbackHTTP, allowPrivateNetworks: outbound.allowsPrivateNetworks)
        configuration.urlPolicy = endpointPolicy
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
                    clients: key.clients.isEmpty ? nil : Set(key.clients.map(\.text)),
                    origins: key.origins.isEmpty ? nil : Set(key.origins.map(\.text)),
                    isAdministrator: key.isAdministrator)
                switch key.proof {
                case .plain(let text): return text.exposed.isEmpty ? nil : (TokenHash(sha256Of: text.exposed), grant)
                case .sha256(let hash): return TokenHash(hash).map { ($0, grant) }
                }
            })
    }

    /// ``requestLimits`` without the quotas where ``rateLimits`` is off.
    var effectiveLimits: RequestLimits {
        var limits = requestLimits
        if !rateLimits { limits.quotas = [:] }
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

    func metricsEndpoint(_ text: @escaping @Sendable () async -> [UInt8]) -> MetricsEndpoint {
        var page = MetricsEndpoint(text)
        page.isServedHere = metrics.port == nil
        page.allowedAddresses = metrics.allowedAddresses
        return page
    }

    package func relyingParty(of provider: Provider) -> RelyingParty.Configuration {
        var party = provider.unconfiguredParty
        party.extensions = provider.extensions
        party.dialect = provider.dialect
        switch provider.kind {
        case .zenkey:
            party.trustedHosts = zenkey.trustedHosts
            party.pinnedIssuers = zenkey.issuers.mapValues(\.text)
        case .oidc, .oauth2, .camara, .firebasePNV, .aggregator:
            // Mobile operators agree with each client whether it must use DPoP (CAMARA Security and Interoperability
            // Profile r4.2, section "Sender-Constrained Tokens"). Their metadata tells only that they support it.
            party.prefersBoundTokens = provider.rules.storesTokens || provider.kind == .camara
            // The mobile operator's API names the user, too.
            party.requiresIDTokens = provider.kind != .camara
            party.signedBackchannelRequests =
                provider.mustSignBackchannelRequests ? .always : party.extensions.signedRequestObjects
        }
        // Another provider's metadata must not lead requests to a host of the private network.
        party.urlPolicy = altered(endpointPolicy) {
            let own = [provider.issuer, provider.metadataURL].compactMap(\.self) + provider.rules.endpoints.values
            $0.httpHosts.removeAll { host in !own.contains { $0.host == host } }
        }
        party.idTokenRules = idToken
        party.idTokenRules.types = provider.idTokenTypes
        party.idTokenRules.trustedAudiences = Set(provider.trustedAudiences)
        for client in provider.clients where !client.trustedAudiences.isEmpty {
            party.idTokenRules.clientAudiences[client.id] = Set(client.trustedAudiences)
        }
        party.idTokenRules.tenants = provider.tenants
        // An app may send a nonce all the same.
        party.idTokenRules.nonceMayBeMissing = provider.rules.nonce == .off
        party.metadataURL = provider.metadataURL
        party.endpoints = provider.rules.endpoints
        party.userMembers = provider.userMembers
        party.logoutParameters = provider.logoutParameters
        party.signingAlgorithms = provider.clients.reduce(into: []) { $0.formUnion($1.signingAlgorithms) }
        party.bulkhead = outbound.bulkhead
        party.limits = outbound.limits
        return party
    }

    /// Those of a kind that a feature brings are left out where no feature does.
    func signInProviders(
        http: any HTTPClient, store: any IssuerBindingStore, clock: WallClock, metrics: CarrierMetrics,
        features: [any Feature], logger: Logger
    ) -> Providers {
        let idTokens = features.compactMap(\.idTokenObserver)
        let keepingRules = features.flatMap(\.keepingRules)
        func party(_ provider: Provider) -> RelyingParty {
            let settings = relyingParty(of: provider)
            return RelyingParty(
                configuration: settings, http: http,
                bindings: settings.usesNetworkDiscovery
                    ? StoredIssuerBindings(store: store, clock: clock) : MemoryIssuerBindings(),
                clock: clock,
                observer: metrics.observer(
                    of: provider.id, usesNetworkDiscovery: settings.usesNetworkDiscovery, idTokens: idTokens,
                    clock: clock, logger: logger))
        }
        func server(_ provider: Provider) -> AuthorizationServer {
            var rules = provider.rules
            rules.requiresBindingMessage = provider.profile != nil
            for rule in [\ServerRules.keepsIDTokens, \.storesTokens] where !keepingRules.contains(rule) {
                rules[keyPath: rule] = false
            }
            return AuthorizationServer(party(provider), clients: provider.clients, rules)
        }
        return Providers(
            Dictionary(grouping: servers, by: \.path).compactMap { path, servers in
                guard let provider = servers.first else { return nil }
                let kind: SignIn.Provider.Kind? =
                    switch provider.kind {
                    case .zenkey:
                        .carriers(
                            (zenkey.discoveryUIURL, zenkey.authorizationURL), server(provider))
                    case .oidc: .openID(server(provider))
                    case .oauth2: .oauth2(server(provider))
                    case .camara, .firebasePNV, .aggregator:
                        features.lazy.compactMap { $0.group(of: servers, server) }.first.map { .group($0) }
                    }
                return kind.map { SignIn.Provider(name: path, title: provider.name, color: provider.color, kind: $0) }
            })
    }

    var signIn: SignInConfiguration {
        var configuration = SignInConfiguration()
        configuration.registration = registration
        configuration.lifetimes = sessions
        configuration.signingKeys = signingKeys
        configuration.vaultKeys = vaultKeys
        configuration.auditsSignIns = auditsSignIns
        configuration.signingKeys.encryptionKeys = keysOfSigningKeys
        return configuration
    }
}

extension Configuration.Database {
    /// The SQLite file; nil for PostgreSQL.
    package var file: SQLiteConfiguration? {
        url.path.map { SQLiteConfiguration(path: $0, synchronous: synchronous, maximumWait: maximumWait) }
    }
}

extension Configuration.Provider {
    /// A relying party that finds its metadata; that of a provider without ID tokens is configured.
    fileprivate var unconfiguredParty: RelyingParty.Configuration {
        if kind == .zenkey { return RelyingParty.Configuration(discoveryURL: issuer) }
        if kind == .firebasePNV, let keys = rules.endpoints["jwks_uri"] {
            return RelyingParty.Configuration(issuer: issuer, jwksURI: keys)
        }
        if kind == .aggregator, let tokens = rules.endpoints["token_endpoint"] {
            return RelyingParty.Configuration(issuer: issuer, tokenEndpoint: tokens)
        }
        guard let endpoints else { return RelyingParty.Configuration(issuer: issuer) }
        return RelyingParty.Configuration(
            issuer: issuer, authorizationEndpoint: endpoints.authorization, tokenEndpoint: endpoints.token,
            userEndpoint: endpoints.user, jwksURI: rules.endpoints["jwks_uri"])
    }
}
