import CarrierSimulator
import Crypto
import CryptoExtras
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// The administrator's configuration with the simulator in the place of one provider, and with nothing else that a run
/// could reach: no database, no other provider, no receiver of telemetry.
struct KitTarget: Sendable {
    /// The network of the simulated carrier.
    static let network = "310010"
    /// The simulated provider's name in its paths.
    static let providerName = "provider"
    /// One of the trusted audiences where the configuration lists any.
    static let trustedAudience = "latchkey-conformance-trusted"
    /// Where sign-ins by redirects end.
    static let webURI = "https://latchkey-conformance.invalid/done"
    static let appURI = "latchkey-conformance:/done"
    static let unknownURI = "https://unregistered.invalid/done"

    let settings: KitSettings
    /// The provider's name in paths.
    let provider: String
    /// Made for the run; the administrator's are not given to the simulator.
    private let secret = Secret(RandomSource.system.token())
    private let key = P256.Signing.PrivateKey()
    private let decryption: KitDecryption?
    let apiKey = Secret(RandomSource.system.token())

    /// - Parameter clientID: Nil for the provider's first client.
    /// - Throws: ``KitError`` if there is no such provider or client, or the simulator cannot play it.
    init(
        _ configuration: Configuration, provider name: String, client clientID: String?, _ features: FeatureList
    ) throws(KitError) {
        let provider = try Self.provider(name, of: configuration)
        let clients = provider.clients
        guard let client = clientID.map({ id in clients.first { $0.id.text == id } }) ?? clients.first else {
            let known = clients.map(\.id.text).joined(separator: ", ")
            throw KitError(
                .usage,
                "the provider \(name) has no client \(clientID ?? ""); it has \(known.isEmpty ? "none" : known)")
        }
        settings = KitSettings(configuration: configuration, provider: provider, client: client, features: features)
        self.provider = name
        guard Self.base(of: client) != nil else {
            throw KitError(
                .usage,
                "the simulator signs ID tokens with RS256, ES256 and PS256, and the client \(client.id.text) "
                    + "accepts none of them; name another client with --client")
        }
        guard provider.extensions.mutualTLS != .always else {
            throw KitError(
                .usage,
                "mtls is always, and the simulator of this command has no TLS; examine the configuration "
                    + "with mtls: auto")
        }
        do {
            decryption = try KitDecryption(client)
        } catch {
            throw KitError(.failed, "a key for encrypted responses cannot be made")
        }
    }

    private static func provider(
        _ name: String, of configuration: Configuration
    ) throws(KitError) -> Configuration.Provider {
        guard let provider = configuration.servers.first(where: { $0.path == name }) else {
            let known = configuration.paths
            throw KitError(
                .usage,
                "no provider has the name \(name); the configuration has "
                    + (known.isEmpty ? "none" : known.joined(separator: ", ")))
        }
        guard [.zenkey, .oidc].contains(provider.kind) else {
            throw KitError(
                .usage,
                "the provider \(name) is of the kind \(provider.kind.rawValue); the kinds zenkey and oidc can "
                    + "be examined")
        }
        return provider
    }

    /// What the simulator signs with: an algorithm of its own, or PS256 with its RSA key.
    private static func base(of client: Configuration.Client) -> SigningAlgorithm? {
        [.rs256, .es256, .ps256].first { client.signingAlgorithms.contains($0) }
    }

    /// The names of the keys whose values the run replaces, for the report.
    static let replaced = [
        "database", "http", "tls", "api_keys", "providers (all others), with the issuer and endpoints",
        "the client's credentials and keys", "redirect_uris (with those of this run)", "outbound.proxy",
        "outbound.ca_bundle", "outbound.additional_ca_bundle", "rate_limits",
        "metrics", "telemetry", "log", "files", "console",
    ]

    // MARK: The provider

    func registration() -> CarrierSimulator.Client {
        var client = CarrierSimulator.Client(
            id: settings.client.id.text, secret: secret,
            redirectURIs: [codeURI, Self.unknownURI, callbackURL])
        client.publicKeyPEM = key.publicKey.pemRepresentation
        client.idTokenEncryption = settings.client.idTokenDecryption.flatMap { decryption?.registration($0) }
        client.userInfoEncryption = settings.client.userInfoDecryption.flatMap { decryption?.registration($0) }
        return client
    }

    func carrier(of row: KitCase) -> CarrierSimulator.Carrier {
        let isCarrier = settings.isOfCarriers
        var carrier = CarrierSimulator.Carrier(
            mccmnc: isCarrier ? Self.network : Self.providerName, name: "Conformance", isCarrier: isCarrier)
        carrier.includesAccessTokenHash = true
        carrier.userInfoShape = isCarrier ? .nested : .flat
        carrier.signingAlgorithm = Self.base(of: settings.client) == .es256 ? .es256 : .rs256
        carrier.faults = row.faults
        if settings.dpop == .always { carrier.faults.insert(.dpopSupported) }
        if settings.client.userInfoSigningAlgorithm != nil { carrier.faults.insert(.userInfoSigned) }
        if settings.provider.rules.pkce == .off { carrier.codeChallenges = .optional }
        carrier.tampering = row.tampering
        if settings.provider.rules.tenants != nil {
            carrier.tampering.idTokens.insert({ $0.claims["tid"] = .string(Self.providerName) }, at: 0)
        }
        if Self.base(of: settings.client) == .ps256 { Self.signWithPS256(&carrier) }
        for edit in row.carrier { edit(&carrier) }
        return carrier
    }

    private static func signWithPS256(_ carrier: inout CarrierSimulator.Carrier) {
        carrier.tampering.idTokens.insert({ if $0.header["alg"] == "RS256" { $0.header["alg"] = "PS256" } }, at: 0)
        carrier.tampering.objects[.discovery, default: []].insert(
            { $0["id_token_signing_alg_values_supported"] = ["PS256"] }, at: 0)
        carrier.tampering.objects[.keys, default: []].append { set in
            let keys = (set["keys"]?.array ?? []).map { key -> JSONValue in
                guard let object = key.object, object["alg"] == "RS256" else { return key }
                var members = JSONMembers(object)
                members["alg"] = "PS256"
                return members.value
            }
            set["keys"] = .array(keys)
        }
    }

    // MARK: The server

    /// Where the provider sends the browser back to.
    var callbackURL: String { publicURL + "/auth/\(provider)/callback" }

    private var publicURL: String { settings.configuration.publicURL?.text ?? "https://latchkey-conformance.invalid" }

    /// The redirect URI of sign-ins with a code.
    var codeURI: String { settings.client.redirectURIs.first ?? Self.webURI }

    /// - Parameter database: The path of a scratch file.
    func configuration(_ simulator: CarrierSimulator, database: String) throws(KitError) -> Configuration {
        var configuration = settings.configuration
        configuration.database = .init()
        configuration.database.url = DatabaseURL(path: database)
        configuration.http = Configuration().http
        configuration.http.hosts = ["127.0.0.1"]
        configuration.http.port = 0
        configuration.http.loops = 1
        configuration.tls = .init()
        configuration.publicURL = EndpointURL(publicURL, policy: .allowLoopbackHTTP)
        configuration.apiKeys = [.plain(apiKey)]
        configuration.metrics = Configuration().metrics
        configuration.log.level = .off
        configuration.filesDirectory = nil
        configuration.hasConsole = false
        configuration.rateLimits = false
        configuration.registration.mode = .automatic
        configuration.outbound.proxy = nil
        configuration.outbound.certificateAuthorities = nil
        configuration.outbound.additionalAuthorities = nil
        configuration.endpointPolicy.allowsLoopbackHTTP = true
        let client = try client()
        configuration.providers = []
        if settings.isOfCarriers {
            try Self.move(&configuration.zenkey, to: simulator, client)
        } else {
            configuration.zenkey = .init()
            configuration.providers = [try Self.moved(settings.provider, to: simulator, client)]
        }
        return configuration
    }

    private func client() throws(KitError) -> Configuration.Client {
        var client = settings.client
        client.authentication = .clientSecretBasic(secret)
        client.clientTLS = nil
        do {
            client.signingKey = try ClientKey(parsing: Secret(key.pemRepresentation))
        } catch {
            throw KitError(.failed, "a key for the run cannot be made")
        }
        client.otherKey = nil
        client.idTokenDecryption = client.idTokenDecryption.flatMap { decryption?.decryption($0) }
        client.userInfoDecryption = client.userInfoDecryption.flatMap { decryption?.decryption($0) }
        if !client.redirectURIs.isEmpty { client.redirectURIs += [Self.webURI, Self.appURI] }
        return client
    }

    private static func moved(
        _ provider: Configuration.Provider, to simulator: CarrierSimulator, _ client: Configuration.Client
    ) throws(KitError) -> Configuration.Provider {
        guard let issuer = url(simulator.issuer(of: providerName)) else { throw unserved }
        var provider = provider
        provider.issuer = issuer
        (provider.rules.metadataURL, provider.rules.endpoints) = (nil, [:])
        if let tenants = provider.rules.tenants {
            provider.rules.tenants = TenantIssuers(
                String(issuer.text.dropLast(providerName.count)) + "{tenantid}",
                allowing: tenants.allowed.map { _ in [providerName] })
        }
        if !(provider.rules.trustedAudiences + client.trustedAudiences).isEmpty {
            provider.rules.trustedAudiences += [ClientID(trustedAudience)].compactMap(\.self)
        }
        provider.clients = [client]
        provider.rules.resources = [:]
        return provider
    }

    private static func move(
        _ zenkey: inout Configuration.ZenKey, to simulator: CarrierSimulator, _ client: Configuration.Client
    ) throws(KitError) {
        guard let discovery = url(simulator.discoveryURL), let issuer = url(simulator.issuer(of: network))
        else { throw unserved }
        zenkey.discoveryURL = discovery
        zenkey.discoveryUIURL = url(simulator.discoveryUIURL)
        zenkey.authorizationURL = zenkey.authorizationURL == nil ? nil : url(simulator.optimizedDiscoveryURL)
        zenkey.clients = [client]
        zenkey.trustedIssuers.append("127.0.0.1")
        // Pinned as the administrator's networks are.
        if !zenkey.issuers.isEmpty, let network = MCCMNC(network) { zenkey.issuers = [network: issuer] }
    }

    private static let unserved = KitError(.failed, "the simulator has no address")

    private static func url(_ text: String?) -> EndpointURL? {
        text.flatMap { EndpointURL($0, policy: .allowLoopbackHTTP) }
    }
}

/// The key that decrypts responses in a run, where the client's registration demands encryption.
private struct KitDecryption: Sendable {
    private let key: DecryptionKey
    private let publicPEM: String

    /// Nil if no response is encrypted for the client.
    init?(_ client: Configuration.Client) throws {
        guard let registered = client.idTokenDecryption ?? client.userInfoDecryption else { return nil }
        switch registered.key.algorithm {
        case .ecdhES:
            let new = P256.KeyAgreement.PrivateKey()
            publicPEM = new.publicKey.pemRepresentation
            key = try DecryptionKey(parsing: Secret(new.pemRepresentation))
        case .rsaOAEP256:
            let new = try _RSA.Encryption.PrivateKey(keySize: .bits2048)
            publicPEM = new.publicKey.pemRepresentation
            key = try DecryptionKey(parsing: Secret(new.pemRepresentation))
        }
    }

    func decryption(_ registered: ResponseDecryption) -> ResponseDecryption {
        ResponseDecryption(key: key, encryption: registered.encryption)
    }

    func registration(_ registered: ResponseDecryption) -> CarrierSimulator.Client.ResponseEncryption? {
        typealias Encryption = CarrierSimulator.Client.ResponseEncryption
        guard let management = Encryption.KeyManagement(rawValue: key.algorithm.rawValue),
            let content = Encryption.Content(rawValue: registered.encryption.rawValue)
        else { return nil }
        return Encryption(management, content, publicKeyPEM: publicPEM)
    }
}

/// Sends requests to the simulator alone. It refuses all others before their host is resolved, and counts them.
struct SimulatorOnlyClient: HTTPClient {
    let client: any HTTPClient
    let port: UInt16
    let refusals: Counts<Int>

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard request.url.host == "127.0.0.1", request.url.port == port else {
            refusals.note { $0 += 1 }
            throw OutboundError(.addressRefused, mayHaveBeenSent: false, reason: "only the simulator may be requested")
        }
        return try await client.send(request)
    }
}

/// Has a service request the simulator alone.
struct SimulatorOnly: Feature {
    struct Settings: FeatureSettings {
        var port: UInt16 = 0
        var refusals = Counts(0)
    }

    let settings: Settings

    init(_ settings: Settings, in context: FeatureContext) { self.settings = settings }

    func client(_ client: any HTTPClient) -> any HTTPClient {
        SimulatorOnlyClient(client: client, port: settings.port, refusals: settings.refusals)
    }
}
