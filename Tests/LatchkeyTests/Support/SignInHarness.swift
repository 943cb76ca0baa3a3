import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// A Latchkey instance and simulated carriers in this process, on sockets of 127.0.0.1, with their own database.
struct SignInHarness: Sendable {
    static let clientID = "ccid-1"
    /// A client that the providers know and no provider's configuration contains by default.
    static let otherClientID = "ccid-2"
    static let secret = "s3cret:+%& é"
    static let redirectURI = "https://app.example/cb"
    static let mccmnc = "310010"

    let simulator: CarrierSimulator
    var app: App
    let configuration: Configuration
    let running: CarrierSimulator.Running
    let service: LatchkeyService
    let directory: TemporaryDirectory
    /// The addresses that it listens on.
    var addresses: [SocketAddress] = []

    /// Starts both, runs `body`, and stops both.
    /// - Parameters:
    ///   - register: Changes the carriers' registration of the client.
    ///   - pause: How slow endpoints wait: by default longer than every timeout, which ends the request first.
    ///   - encryption: Has the carriers served with TLS.
    static func with(
        clock: WallClock = .system, uptime: Uptime = .system, configure: (inout Configuration) -> Void = { _ in },
        register: (inout CarrierSimulator.Client) -> Void = { _ in },
        pause: @escaping CarrierSimulator.Pause = { try await Task.sleep(for: $0) },
        encryption: CarrierSimulator.Encryption? = nil,
        _ body: (SignInHarness) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        var client = CarrierSimulator.Client(
            id: clientID, secret: Secret(secret),
            redirectURIs: [redirectURI]
                + ["zenkey", "acme", "globex", "meetings", "number"].map { "http://127.0.0.1/auth/\($0)/callback" })
        client.postLogoutRedirectURIs = ["acme", "globex"].map { "http://127.0.0.1/auth/\($0)/logged-out" }
        register(&client)
        var other = client
        other.id = otherClientID
        let simulator = CarrierSimulator(clients: [client, other], clock: clock, pause: pause)
        // The first tokens do not wait for their RSA keys: a slow machine may need longer for one than a timeout.
        try await simulator.prepareKeys()
        let running = try simulator.start(encryption: encryption)
        var configuration = try configuration(simulator, directory)
        configure(&configuration)
        let service = try LatchkeyService(
            configuration: configuration, features: .standard, clock: clock, uptime: uptime)
        let addresses = try service.start()
        let harness = SignInHarness(
            simulator: simulator, app: App(port: addresses[0].port), configuration: configuration, running: running,
            service: service,
            directory: directory, addresses: addresses)
        do {
            try await body(harness)
        } catch {
            await harness.stop()
            throw error
        }
        await harness.stop()
    }

    /// Runs `body` with another instance on the same database.
    func withInstance(
        clock: WallClock = .system, uptime: Uptime = .system, _ body: (App, LatchkeyService) async throws -> Void
    ) async throws {
        let instance = try LatchkeyService(
            configuration: configuration, features: .standard, clock: clock, uptime: uptime)
        let addresses = try instance.start()
        do {
            try await body(App(port: addresses[0].port), instance)
        } catch {
            await instance.shutdown(within: .seconds(5))
            throw error
        }
        await instance.shutdown(within: .seconds(5))
    }

    /// Runs `body` with a server of another configuration.
    static func withServer(
        _ configuration: Configuration, clock: WallClock = .system, _ body: (App) async throws -> Void
    ) async throws {
        let service = try LatchkeyService(configuration: configuration, features: .standard, clock: clock)
        let addresses = try service.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(App(port: addresses[0].port))) } catch { result = .failure(error) }
        await service.shutdown(within: .seconds(5))
        try result.get()
    }

    /// Runs `body` with another instance on the same database, with empty caches.
    func alongside(_ body: (SignInHarness) async throws -> Void) async throws {
        let other = try LatchkeyService(configuration: configuration, features: .standard)
        let addresses = try other.start()
        let harness = SignInHarness(
            simulator: simulator, app: App(port: addresses[0].port), configuration: configuration, running: running,
            service: other, directory: directory)
        let result: Result<Void, any Error>
        do { result = .success(try await body(harness)) } catch { result = .failure(error) }
        await other.shutdown(within: .seconds(5))
        try result.get()
    }

    /// The app's fields after the carrier's approval.
    func authorizedResponse(
        mccmnc: String = mccmnc, scope: String = "openid", acr: String? = nil, context: String? = nil,
        user: String? = nil, redirectURI: String = redirectURI,
        nonce: String = RandomSource.system.token(bytes: 16)
    ) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try simulator.issueCode(
            mccmnc: mccmnc, clientID: SignInHarness.clientID, redirectURI: redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), nonce: nonce,
            scope: scope, acr: acr, context: context, user: user)
        var fields = [
            "client_id": SignInHarness.clientID, "code": code, "mccmnc": mccmnc,
            "redirect_uri": redirectURI,
            "code_verifier": verifier, "nonce": nonce,
        ]
        fields["acr_values"] = acr
        fields["context"] = context
        return fields
    }

    /// The device shows a code and the phone decides; returns the device's redirect.
    func onThePhone(
        _ browser: Browser, _ asked: Browser.Page, answering decision: String
    ) async throws -> Browser.Page {
        let ui = try #require(simulator.discoveryUIURL)
        let base = ui.replacing("/ui/discovery-ui", with: "")
        var form: [String: String] = [:]
        for item in asked.parameters.items { form[item.name] = item.value }
        let device = base + (try await browser.post(ui + "/codes", form: form).location)
        let shown = try await browser.get(device).text.split(separator: "<p class=\"code\">").last ?? ""
        let number = shown.prefix { $0 != "<" }.filter(\.isNumber)
        let phone = try await Browser().post(
            base + "/phone",
            form: ["number": number, "subscriber": "\(Self.mccmnc)-ravi", "decision": decision])
        #expect(phone.status == 200)
        return try await browser.get(device)
    }

    private func stop() async {
        await service.shutdown(within: .seconds(5))
        await running.shutdown()
        service.flushLog()
    }

    /// The provider without ID tokens.
    private static func meetings(
        _ simulator: CarrierSimulator, _ client: Configuration.Client
    ) -> Configuration.Provider? {
        let base = simulator.issuer(of: "meetings") ?? ""
        func url(_ text: String) -> EndpointURL? { EndpointURL(text, policy: .allowLoopbackHTTP) }
        guard let issuer = EndpointURL("https://meetings.example", policy: .httpsOnly),
            let authorization = url(base + "/authorize"), let token = url(base + "/token"),
            let user = url(base + "/v2/users/me"), let subject = UserEndpoint.Member("id"),
            let name = UserEndpoint.Member("display_name")
        else { return nil }
        var client = client
        client.scopes = []
        var provider = Configuration.Provider(id: "meetings", kind: .oauth2, issuer: issuer, clients: [client])
        let endpoint = UserEndpoint(url: user, subject: subject)
        provider.endpoints = .init(authorization: authorization, token: token, user: endpoint)
        provider.rules.userMembers.attributes = [.name: name]
        provider.rules.resources = ["zak": url(base + "/v2/users/me/token?type=zak")].compactMapValues { $0 }
        return provider
    }

    private static func configuration(
        _ simulator: CarrierSimulator, _ directory: TemporaryDirectory
    ) throws -> Configuration {
        var configuration = Configuration()
        configuration.http.port = 0
        configuration.database.url = DatabaseURL(path: directory.path + "/latchkey.db")
        configuration.endpointPolicy.allowsLoopbackHTTP = true
        configuration.apiKeys = [.plain(Secret("test-key"))]
        configuration.zenkey.trustedIssuers = ["127.0.0.1"]
        configuration.zenkey.discoveryURL = EndpointURL(simulator.discoveryURL ?? "", policy: .allowLoopbackHTTP)
        configuration.zenkey.discoveryUIURL = EndpointURL(simulator.discoveryUIURL ?? "", policy: .allowLoopbackHTTP)
        configuration.log.level = .off
        if let id = ClientID(clientID) {
            var client = Configuration.Client(id: id, secret: Secret(secret))
            client.redirectURIs = [redirectURI]
            configuration.zenkey.clients = [client]
            configuration.providers = ["acme", "globex"].compactMap { name in
                EndpointURL(simulator.issuer(of: name) ?? "", policy: .allowLoopbackHTTP).map {
                    .init(id: name, name: name.capitalized, issuer: $0, clients: [client])
                }
            }
            if let meetings = meetings(simulator, client) { configuration.providers.append(meetings) }
        }
        return configuration
    }
}
