import CarrierSimulator
import Crypto
import Foundation
import HTTPServer
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport

/// What a browser and an app do at the providers `acme`, `globex` and `meetings` of a stage.
struct ProviderWalk: Sendable {
    static let webURI = "https://web.example/done"

    let stage: Stage

    /// A stage whose providers have a redirect URI for browsers.
    static func with(
        clock: WallClock = .system, configure: (inout Configuration) -> Void = { _ in },
        _ body: (ProviderWalk) async throws -> Void
    ) async throws {
        try await Stage.with(
            clock: clock,
            configure: { configuration in
                for index in configuration.providers.indices {
                    configuration.providers[index].clients[0].redirectURIs = [webURI, Stage.redirectURI]
                }
                configuration.zenkey.clients[0].redirectURIs = [webURI, Stage.redirectURI]
                configure(&configuration)
            }
        ) { try await body(ProviderWalk(stage: $0)) }
    }

    var origin: String { "http://127.0.0.1:\(stage.app.port)" }

    func sessionCookie(_ browser: Browser) -> String? {
        browser.cookies["127.0.0.1:\(stage.app.port)"]?["latchkey_session"]
    }

    func start(
        _ browser: Browser, at provider: String, _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        let all = ["client_type": "web", "redirect_uri": Self.webURI].merging(fields) { $1 }
        return try await browser.get("\(origin)/auth/\(provider)/start?\(App.form(all))")
    }

    /// Where the provider sends the browser once its user approved.
    func approved(_ browser: Browser, _ page: Browser.Page, user: String = "jane") async throws -> String {
        let shown = try await browser.get(page.location)
        if shown.status != 200 { return shown.location }
        var form: [String: String] = ["user": user]
        for item in page.parameters.items { form[item.name] = item.value }
        return try await browser.post(page.location.prefix { $0 != "?" } + "/approve", form: form).location
    }

    /// Signs a browser in; the page at the end.
    @discardableResult
    func signIn(
        _ browser: Browser, at provider: String, user: String = "jane", _ fields: [String: String] = [:]
    ) async throws -> Browser.Page {
        try await browser.get(
            try await approved(browser, try await start(browser, at: provider, fields), user: user))
    }

    /// Every byte that the database has on disk.
    func files() -> [UInt8] {
        ["", "-wal", "-shm"].flatMap { suffix in
            let path = (stage.configuration.database.url.path ?? "") + suffix
            return FileManager.default.contents(atPath: path).map(Array.init) ?? []
        }
    }

    func userID(_ browser: Browser) async throws -> Int64? {
        App.Members(of: try await browser.get(origin + "/users/me").response.body)["user_id"]?.integer
    }

    /// What an app posts once the user approved at a provider that is no carrier.
    func code(at provider: String, user: String? = nil) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try stage.simulator.issueCode(
            mccmnc: provider, clientID: Stage.clientID, redirectURI: Stage.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), nonce: "n-1",
            user: user)
        return [
            "client_id": Stage.clientID, "code": code, "redirect_uri": Stage.redirectURI, "code_verifier": verifier,
            "nonce": "n-1",
        ]
    }

    /// The token of an app that signed in with a provider's code.
    func token(at provider: String, user: String? = nil) async throws -> String? {
        try await stage.app.send(
            "POST", "/auth/\(provider)/sign-in", headers: ["Content-Type: application/json"],
            body: App.json(try code(at: provider, user: user))
        ).token
    }
}
