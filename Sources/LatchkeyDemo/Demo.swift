import CarrierSimulator
import Crypto
import HTTPServer
import LatchkeyAPI
package import LatchkeyConfiguration
import LatchkeyFeatures
package import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn

/// A Latchkey server with simulated carriers on this machine. All addresses are on 127.0.0.1.
package struct Demo: Sendable {
    package let service: LatchkeyService
    private let simulator: CarrierSimulator.Running
    private let serverURL: String
    private let simulatorURL: String
    private let database: String

    /// The client's id at the carriers.
    static let clientID = "demo-app"
    /// The client's id at the mobile operators, which authenticate it by its key.
    static let numberClientID = "demo-number"
    static let apiKey = "demo-key"
    static let redirectURI = "https://app.example/callback"
    /// Where sign-ins of an app end.
    static let appRedirectURI = "com.example.app:/callback"
    /// The server's own pages that sign-ins may return to; loopback redirect URIs match any port (RFC 8252 section
    /// 7.3).
    static let pages = ["http://127.0.0.1/", "http://127.0.0.1/sign-in"]
    /// Pages of every kind may be tried out.
    static let clientTypes = Dictionary(uniqueKeysWithValues: pages.map { ($0, Set(ClientType.allCases)) })
    static let callbackURLs = (["google", "zenkey"] + CarrierSimulator.otherProviders).map {
        "http://127.0.0.1/auth/\($0)/callback"
    }
    /// The origins of the app, as a web page and on Android, where it is the hash of a signing certificate.
    static let credentialOrigins = [
        "https://app.example", "android:apk-key-hash:ikZOBb8DevJDIgDIaHRV_NHgqATWnIow0p2ln1hKx38",
    ]

    /// Starts the carriers and then the server.
    ///
    /// - Parameters:
    ///   - configuration: Loaded for ``ConfigurationLoader/Purpose/demo``; the demonstration replaces its API keys,
    ///     carriers and clients.
    ///   - simulatorPort: The carriers' port; 0 lets the system choose.
    /// - Throws: ``LatchkeyStartError``.
    package static func start(_ configuration: Configuration, simulatorPort: UInt16) async throws -> Demo {
        let secret = Secret(RandomSource.system.token())
        let key = P256.Signing.PrivateKey()
        var client = CarrierSimulator.Client(id: clientID, secret: secret, redirectURIs: [redirectURI] + callbackURLs)
        client.postLogoutRedirectURIs = ["http://127.0.0.1/auth/acme/logged-out"]
        client.publicKeyPEM = key.publicKey.pemRepresentation
        var numberClient = CarrierSimulator.Client(
            id: numberClientID, secret: secret,
            redirectURIs: ["http://127.0.0.1/auth/\(CarrierSimulator.numberProvider)/callback"])
        numberClient.authentication = .privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation)
        let simulator = CarrierSimulator(clients: [client, numberClient])
        if let accounts = CarrierSimulator.accounts { simulator.add(accounts.carrier) }
        let running: CarrierSimulator.Running
        do {
            running = try simulator.start(port: simulatorPort)
            try await simulator.prepareKeys()
        } catch {
            throw LatchkeyStartError(
                .network, "the simulated carriers cannot start: \(error); choose another port with --simulator-port")
        }
        do {
            var configuration = try Demo.configuration(
                configuration, secret: secret, key: Secret(key.pemRepresentation), simulator: simulator)
            configuration[DemonstrationSettings.self].carriersURL = simulator.baseURL ?? ""
            configuration[DemonstrationSettings.self].apiKey = apiKey
            let service = try LatchkeyService(
                configuration: configuration, features: .standard.adding(Demonstration.self))
            let addresses = try listen(service)
            return Demo(
                service: service, simulator: running, serverURL: "http://\(addresses[0])",
                simulatorURL: simulator.baseURL ?? "", database: configuration.database.url.path ?? "")
        } catch {
            await running.shutdown()
            throw error
        }
    }

    /// As ``LatchkeyService/start()``, with remedies that name the options of the command.
    private static func listen(_ service: LatchkeyService) throws(LatchkeyStartError) -> [SocketAddress] {
        do throws(ServerError) {
            return try service.listen()
        } catch {
            let remedy =
                switch error.code {
                case .addressInUse: "Stop the other server, or choose another port with --port"
                case .noEventLoop: "Lower http.loops, or raise the process's limit on open files"
                case .unknownHost, .cannotListen: "Choose another port with --port"
                }
            throw LatchkeyStartError(.network, "\(error). \(remedy)")
        }
    }

    package func shutdown(within limit: Duration) async {
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
        client.clientTypes = clientTypes
        client.scopes = ["openid", "name", "email", "phone", "postal_code"]
        var configuration = base
        configuration.http.hosts = ["127.0.0.1"]
        change(&configuration) { $0.hasConsole = true }
        configuration.endpointPolicy.allowsLoopbackHTTP = true
        configuration.apiKeys = [.plain(Secret(apiKey))]
        configuration.zenkey = Configuration().zenkey
        configuration.zenkey.discoveryURL = discoveryURL
        configuration.zenkey.discoveryUIURL = EndpointURL(simulator.discoveryUIURL ?? "", policy: .allowLoopbackHTTP)
        configuration.zenkey.clients = [client]
        change(&configuration) { $0.zenkey.clients[0].boundTokens = .optional }
        configuration.zenkey.trustedIssuers = ["127.0.0.1"]
        configuration.zenkey.issuers = simulator.issuers
        let known = Set(configuration.providers.map(\.path))
        let numbers = simulator.numberProviders(key, redirectURIs: [redirectURI, appRedirectURI] + pages)
        for providers in [simulator.providers(for: client), numbers] {
            change(&configuration) { $0.providers += providers.filter { !known.contains($0.path) } }
        }
        let ownOrigin = base.publicURL.map { "\($0.scheme.rawValue)://\($0.authority)" }
        let origins = base.allowedOrigins.map(\.text) + [ownOrigin ?? "http://127.0.0.1:\(base.http.port)"]
        // A port that the system chooses is not known yet.
        for provider in simulator.phoneProviders(secret, origins: origins.filter { !$0.hasSuffix(":0") })
        where !known.contains(provider.path) { change(&configuration) { $0.providers.append(provider) } }
        // The users are invented, so the key for their tokens and claims is not secret. The next run needs the same
        // one.
        if configuration.vaultKeys.isEmpty {
            let bytes = Array("latchkey demonstration no secret".utf8)
            configuration.encryptionKeys = [EncryptionKey(bytes)].compactMap(\.self)
        }
        return configuration
    }

    /// Changes a configuration, unless the change asks for a feature that this build lacks.
    private static func change(_ configuration: inout Configuration, _ change: (inout Configuration) -> Void) {
        var changed = configuration
        change(&changed)
        if FeatureList.standard.settings.unmetDemands(of: changed).isEmpty { configuration = changed }
    }
}

extension Demo {
    /// The keys that the demonstration has its own values for, beside those of `zenkey`, with what sets them.
    private static let ownKeys = [
        "allow_loopback_http": nil, "api_keys": nil, "console": nil, "database.url": "--database", "http.host": nil,
        "http.port": "--port",
    ]

    /// The keys of a configuration that the demonstration does not use, in the order of the reference: one line each,
    /// with the place of the value and what to do. Never holds a value.
    package static func unusedKeys(of loaded: LoadedConfiguration) -> [String] {
        ConfigurationReference.keys(of: loaded.configuration.settings).compactMap { key in
            guard let origin = loaded.origins[key.name],
                key.name.hasPrefix("zenkey.") || ownKeys.keys.contains(key.name)
            else { return nil }
            let option = ownKeys[key.name].flatMap(\.self).map { "give \($0), or " } ?? ""
            return "\(key.name): is not used, because the demonstration has its own value; \(option)run latchkey "
                + "serve with it [\(origin)]"
        }
    }
}

extension Demo {
    private static let debugNote = """

        This is a debug build: times and memory say nothing about the release build, which `make build` makes.
        """

    /// What `latchkey-dev demo` prints: the addresses, and curl commands to try.
    package var guide: String {
        """

        Latchkey \(LatchkeyVersion.text) is at \(serverURL), the simulated carriers are at \(simulatorURL).
        Users are stored in \(database). Stop with Ctrl-C.\(LatchkeyVersion.isDebugBuild ? Self.debugNote : "")

        Open it in a browser to see each call beside your actions:

            \(serverURL)/

        Sign a user in with curl (the first command plays the app that receives a code from the carrier):

            curl -sS -X POST \(simulatorURL)/demo/codes |
              curl -sS \(serverURL)/auth/zenkey-signin \\
                -H 'X-API-KEY: \(Self.apiKey)' -H 'Content-Type: application/json' -d @-

        Then, with the token of the response:

            curl -sS \(serverURL)/users/me -H 'X-API-KEY: \(Self.apiKey)' -H 'Authorization: Bearer TOKEN'
            curl -sS -X DELETE \(serverURL)/auth/token -H 'X-API-KEY: \(Self.apiKey)' \\
              -H 'Authorization: Bearer TOKEN'

        A failed sign-in leaves a capsule, which says why. In this folder:

            LATCHKEY_DATABASE_URL=sqlite:///\(database) latchkey capsule list
        """
    }
}
