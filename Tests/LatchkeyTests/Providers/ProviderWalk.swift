import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport

/// The steps of a browser and an app at the providers `acme`, `globex` and `meetings` of a harness.
struct ProviderWalk: Sendable {
    static let webURI = "https://web.example/done"

    let harness: SignInHarness

    /// A harness whose providers have a redirect URI for browsers.
    static func with(
        clock: WallClock = .system, configure: (inout Configuration) -> Void = { _ in },
        register: (inout CarrierSimulator.Client) -> Void = { _ in },
        encryption: CarrierSimulator.Encryption? = nil, _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        try await SignInHarness.with(
            clock: clock,
            configure: { configuration in
                for index in configuration.providers.indices {
                    configuration.providers[index].clients[0].redirectURIs = [webURI, SignInHarness.redirectURI]
                }
                configuration.zenkey.clients[0].redirectURIs = [webURI, SignInHarness.redirectURI]
                configure(&configuration)
            }, register: register, encryption: encryption
        ) { try await body(ProviderWalk(harness: $0)) }
    }

    var origin: String { "http://127.0.0.1:\(harness.app.port)" }

    func sessionCookie(_ browser: Browser) -> String? {
        browser.cookies["127.0.0.1:\(harness.app.port)"]?["latchkey_session"]
    }

    func start(
        _ browser: Browser, at provider: String, _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": Self.webURI].merging(fields) { $1 }
        return try await browser.get("\(origin)/auth/\(provider)/start?\(App.form(all))")
    }

    /// The provider's redirect after the user's approval.
    func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        let shown = try await browser.get(page.location)
        if shown.status != 200 { return shown.location }
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form).location
    }

    /// Signs a browser in and returns the final page.
    @discardableResult
    func signIn(
        _ browser: Browser, at provider: String, user: String = "jane", _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        try await browser.get(
            try await approved(browser, try await start(browser, at: provider, fields), user: user))
    }

    /// All bytes of the database files.
    func files() -> [UInt8] {
        ["", "-wal", "-shm"].flatMap { suffix in
            let path = (harness.configuration.database.url.path ?? "") + suffix
            return FileManager.default.contents(atPath: path).map(Array.init) ?? []
        }
    }

    func userID(_ browser: Browser) async throws -> Int64? {
        App.Members(of: try await browser.get(origin + "/users/me").response.body)["user_id"]?.integer
    }

    /// The app's fields after the user's approval at a provider that is not a carrier.
    func code(at provider: String, user: String? = nil) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try harness.simulator.issueCode(
            mccmnc: provider, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), nonce: "n-1",
            user: user)
        return [
            "client_id": SignInHarness.clientID, "code": code, "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier,
            "nonce": "n-1",
        ]
    }

    /// The session token of an app that signed in with a provider's code.
    func token(at provider: String, user: String? = nil) async throws -> String? {
        try await harness.app.send(
            "POST", "/auth/\(provider)/sign-in", headers: ["Content-Type: application/json"],
            body: App.json(try code(at: provider, user: user))
        ).token
    }
}
