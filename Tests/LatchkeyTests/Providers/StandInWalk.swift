import CarrierSimulator
import Foundation
import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// A server with one preset, and the provider's stand-in.
struct StandInWalk {
    static let clientID = "latchkey"

    let standIn: CarrierSimulator.StandIn
    let simulator: CarrierSimulator
    let app: App
    let configuration: Configuration
    /// The file of the configuration.
    let file: String

    /// - Parameters:
    ///   - isForRefresh: Whether tokens are stored, with a resource that they open.
    ///   - otherClients: The ids of more clients, which have the credential of the first.
    ///   - clients: The configuration's list of clients, in place of the one client.
    static func with(
        _ standIn: CarrierSimulator.StandIn, isForRefresh: Bool = false, otherClients: [String] = [],
        clients: String? = nil, _ body: (StandInWalk) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let (client, credential) = standIn.client(clientID, of: "http://127.0.0.1")
        // Keys that another test has made: making them is slow.
        let carrier = altered(standIn.carrier) { $0.keyRing = SignInHarness.mccmnc }
        let simulator = CarrierSimulator(
            carriers: [carrier], clients: [client] + otherClients.map { id in altered(client) { $0.id = id } })
        let running = try simulator.start()
        let base = simulator.baseURL ?? ""
        var section = standIn.configuration(at: base, clientID: clientID, credential: credential)
        if let clients {
            section.removeAll { ["client_id", "native_audiences"].contains($0.key) }
            section.append(("clients", clients))
        }
        section.append(("redirect_uris", "[\(ProviderWalk.webURI)]"))
        if isForRefresh {
            let resource = "\(base)/providers/\(standIn.name)/v2/users/me/token?type=zak"
            section += [("store_tokens", "true"), ("resources", "{zak: {url: \"\(resource)\"}}")]
        }
        let text = """
            allow_loopback_http: true
            api_keys: [test-key]
            encryption_keys: ["\(String(repeating: "1f", count: 32))"]
            database:
              url: sqlite:///\(directory.path)/latchkey.db
            providers:
              \(standIn.name):
            \(section.map { "    \($0.key): \($0.value)" }.joined(separator: "\n"))
            """
        let file = directory.path + "/latchkey.yaml"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        var configuration = try ConfigurationLoader(FeatureList.standard.settings).load(file: file, environment: [:])
            .configuration
        configuration.http.port = 0
        configuration.log.level = .off
        let result: Result<Void, any Error>
        do {
            try await serve(configuration) { port in
                try await body(
                    StandInWalk(
                        standIn: standIn, simulator: simulator, app: App(port: port), configuration: configuration,
                        file: file))
            }
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await running.shutdown()
        try result.get()
    }

    private static func serve(
        _ configuration: Configuration, _ body: (UInt16) async throws -> Void
    ) async throws {
        let service = try LatchkeyService(configuration: configuration, features: .standard)
        let addresses = try service.start()
        let result: Result<Void, any Error>
        do { result = .success(try await body(addresses[0].port)) } catch { result = .failure(error) }
        await service.shutdown(within: .seconds(5))
        try result.get()
    }

    /// Runs `body` with an app of another instance on the same database, with empty caches.
    func alongside(_ body: (App) async throws -> Void) async throws {
        try await Self.serve(configuration) { try await body(App(port: $0)) }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(app.port)\(path)" }

    /// Why the stand-in refused requests.
    var refusals: String { simulator.log.refusals(at: standIn.name).map(\.description).joined(separator: "; ") }

    /// Signs a browser in, and returns the page at the end.
    func signIn(_ browser: Browser) async throws -> Browser.Page {
        var query = ["client_type": "web", "redirect_uri": ProviderWalk.webURI]
        if configuration.providers[0].clients.count > 1 { query["client_id"] = Self.clientID }
        let page = try await browser.get(url("/auth/\(standIn.name)/start?\(App.form(query))"))
        #expect(try await browser.get(page.location).status == 200, "\(refusals) \(page.location)")
        var form: [String: String] = ["user": "jane"]
        for item in page.parameters.items { form[item.name] = item.value }
        let approved = try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form)
        let response = AuthorizationCallback(approved)
        guard response.isForm else { return try await browser.get(approved.location) }
        var sent = ["sent_again": "true"]
        for item in response.items { sent[item.name] = item.value }
        return try await browser.post(response.callback, form: sent)
    }

    func profile(_ browser: Browser) async throws -> App.Members {
        App.Members(of: try await browser.get(url("/users/me")).response.body)
    }

    /// A nonce that the server has issued.
    func issuedNonce(by other: App? = nil) async throws -> String {
        try #require(try await (other ?? app).post("/auth/\(standIn.name)/attempts", [:]).json["nonce"]?.string)
    }

    /// What an app on the device gets and sends to the server.
    func nativeFields(_ fields: [String: String] = [:], by other: App? = nil) async throws -> [String: String] {
        let text = try await Browser().post(
            (simulator.issuer(of: standIn.name) ?? "") + "/native-tokens",
            form: try await ["nonce": issuedNonce(by: other)].merging(fields) { $1 }
        ).text
        let members = try #require(try JSONValue(parsing: Array(text.utf8)).object, "\(text)")
        return Dictionary(uniqueKeysWithValues: members.members.compactMap { m in m.value.string.map { (m.name, $0) } })
    }

    func signInNatively(_ fields: [String: String], by other: App? = nil) async throws -> App.Answer {
        try await (other ?? app).post("/auth/\(standIn.name)/native", fields)
    }
}
