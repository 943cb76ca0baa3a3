import CarrierSimulator
import Crypto
import HTTPServer
import LatchkeyAPI
public import LatchkeyConfiguration
import Logging
import OpenIDConnect
import Primitives
import SignIn

/// A Latchkey and carriers to sign in with, on this machine: nothing of it leaves 127.0.0.1.
public struct Demo: Sendable {
    /// Where things are, for whoever started the demo.
    public struct Guide: Sendable {
        public let serverURL: String
        public let simulatorURL: String
        public let apiKey: String
        public let database: String
        /// Whether there is something to be seen in a browser at ``serverURL``.
        public let hasPages: Bool
    }

    public let service: LatchkeyService
    public let guide: Guide
    private let simulator: CarrierSimulator.Running

    /// The client's id, as the carriers know it.
    static let clientID = "demo-app"
    static let apiKey = "demo-key"
    static let redirectURI = "https://app.example/callback"
    /// The server's own pages at which sign-ins may end, on whatever port it runs.
    static let pages = ["http://127.0.0.1/", "http://127.0.0.1/sign-in"]
    /// The server's own, on whatever port it runs.
    static let callbackURLs = (["zenkey"] + CarrierSimulator.otherProviders).map {
        "http://127.0.0.1/auth/\($0)/callback"
    }

    /// Starts the carriers and then the server.
    ///
    /// - Parameters:
    ///   - configuration: Read for ``ConfigurationLoader/Purpose/demo``; what the demonstration brings itself (API key,
    ///     carriers, the one client) takes the place of what stands there.
    ///   - simulatorPort: The carriers' port; 0 lets the system choose.
    /// - Throws: ``LatchkeyStartError``.
    public static func start(_ configuration: Configuration, simulatorPort: UInt16) async throws -> Demo {
        let secret = Secret(RandomSource.system.token())
        let key = P256.Signing.PrivateKey()
        var client = CarrierSimulator.Client(
            id: clientID, secret: secret, redirectURIs: [redirectURI] + callbackURLs)
        client.postLogoutRedirectURIs = ["http://127.0.0.1/auth/acme/logged-out"]
        client.publicKeyPEM = key.publicKey.pemRepresentation
        let simulator = CarrierSimulator(clients: [client])
        let running: CarrierSimulator.Running
        do {
            running = try simulator.start(port: simulatorPort)
            try await simulator.prepareKeys()
        } catch {
            throw LatchkeyStartError(
                .network, "the simulated carriers cannot start: \(error); choose another port with --simulator-port")
        }
        do {
            let configuration = try Demo.configuration(
                configuration, secret: secret, key: Secret(key.pemRepresentation), simulator: simulator)
            let demonstration = Demonstration(carriersURL: simulator.baseURL ?? "", apiKey: apiKey)
            let service = try LatchkeyService(configuration: configuration, demonstration: demonstration)
            let addresses = try listen(service)
            let guide = Guide(
                serverURL: "http://\(addresses[0])", simulatorURL: simulator.baseURL ?? "", apiKey: apiKey,
                database: configuration.database.url.path ?? "", hasPages: LatchkeyService.hasPages)
            return Demo(service: service, guide: guide, simulator: running)
        } catch {
            await running.shutdown()
            throw error
        }
    }

    /// Whoever runs a demonstration has options, and no configuration to change.
    private static func listen(_ service: LatchkeyService) throws(LatchkeyStartError) -> [SocketAddress] {
        do throws(ServerError) {
            return try service.listen()
        } catch {
            let remedy =
                error.code == .addressInUse
                ? "Stop the server that is running there, or choose another port with --port"
                : "Choose another port with --port"
            throw LatchkeyStartError(.network, "\(error). \(remedy)")
        }
    }

    /// Stops the server, then the carriers.
    public func shutdown(within limit: Duration) async {
        await service.shutdown(within: limit)
        await simulator.shutdown()
    }

    private static func configuration(
        _ base: Configuration, secret: Secret, key: Secret, simulator: CarrierSimulator
    ) throws -> Configuration {
        guard let clientID = ClientID(clientID),
            let discoveryURL = EndpointURL(simulator.discoveryURL ?? "", policy: .allowLoopbackHTTP)
        else { throw LatchkeyStartError(.configuration, "the simulated carriers have no address") }
        var client = Configuration.Client(id: clientID, secret: secret)
        client.signingKey = try ClientKey(parsing: key)
        client.redirectURIs = [redirectURI] + pages
        client.scopes = ["openid", "name", "email", "phone", "postal_code"]
        var configuration = base
        configuration.http.hosts = ["127.0.0.1"]
        configuration.allowsLoopbackHTTP = true
        configuration.apiKeys = [.plain(Secret(apiKey))]
        configuration.zenkey.discoveryURL = discoveryURL
        configuration.zenkey.discoveryUIURL = EndpointURL(simulator.discoveryUIURL ?? "", policy: .allowLoopbackHTTP)
        configuration.zenkey.clients = [client]
        configuration.zenkey.trustedIssuers = ["127.0.0.1"]
        let known = Set(configuration.providers.map(\.id))
        configuration.providers += simulator.providers(for: client).filter { !known.contains($0.id) }
        if configuration.vault.encryptionKeys.isEmpty, configuration.providers.contains(where: \.storesTokens) {
            configuration.vault.encryptionKeys = [Secret(RandomSource.system.hexadecimalKey)]
        }
        return configuration
    }
}

extension RandomSource {
    /// An encryption key of 256 bits, as configurations have it.
    fileprivate var hexadecimalKey: String {
        bytes(32).hexadecimal
    }
}
