import CarrierSimulator
import Crypto
import Foundation
import LatchkeyConfiguration
import Primitives
import SignIn
import TestSupport
import Testing

/// A harness whose provider `meetings` stores tokens, and the steps of its user.
struct ResourceHarness: Sendable {
    static let webURI = "https://web.example/done"
    static let key = String(repeating: "1f", count: 32)

    let base: SignInHarness
    var app: App { base.app }
    var simulator: CarrierSimulator { base.simulator }
    var log: CarrierSimulator.RequestLog { simulator.log }

    static func with(
        clock: WallClock = .system,
        pause: @escaping CarrierSimulator.Pause = { try await Task.sleep(for: $0) },
        configure: (inout Configuration) -> Void = { _ in },
        _ change: (inout Configuration.Provider) -> Void = { _ in }, _ body: (ResourceHarness) async throws -> Void
    ) async throws {
        try await SignInHarness.with(
            clock: clock,
            configure: { configuration in
                configuration.encryptionKeys = EncryptionKey.of(key)
                for index in configuration.providers.indices where configuration.providers[index].id == "meetings" {
                    configuration.providers[index].rules.storesTokens = true
                    configuration.providers[index].clients[0].redirectURIs = [webURI, SignInHarness.redirectURI]
                    change(&configuration.providers[index])
                }
                configure(&configuration)
            }, pause: pause
        ) { harness in try await body(ResourceHarness(base: harness)) }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(app.port)\(path)" }

    /// The app's fields after the approval at `meetings`.
    func authorizedResponse(user: String = "jane", clientID: String = SignInHarness.clientID) throws -> [String: String]
    {
        let verifier = RandomSource.system.token()
        let code = try simulator.issueCode(
            mccmnc: "meetings", clientID: clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), scope: "user:read",
            user: user)
        return [
            "client_id": clientID, "code": code, "redirect_uri": SignInHarness.redirectURI, "code_verifier": verifier,
        ]
    }

    /// Signs in with a code at `meetings` and returns the response.
    func signInAnswer(
        user: String = "jane", clientID: String = SignInHarness.clientID, at app: App? = nil
    ) async throws -> App.Answer {
        let fields = try authorizedResponse(user: user, clientID: clientID)
        return try await (app ?? self.app).send(
            "POST", "/auth/meetings/sign-in", headers: ["Content-Type: application/json"], body: App.json(fields))
    }

    /// Signs in and returns the session token.
    func signIn(user: String = "jane", clientID: String = SignInHarness.clientID) async throws -> String {
        let answer = try await signInAnswer(user: user, clientID: clientID)
        #expect(answer.status == 200, "\(answer.response.text)")
        return try #require(answer.token)
    }

    func fetch(
        _ token: String?, _ path: String = "/auth/meetings/resources/zak", at app: App? = nil
    ) async throws -> App.Answer {
        try await (app ?? self.app).send(
            "GET", path, headers: token.map { ["Authorization: Bearer \($0)"] } ?? [])
    }

    /// The number of refreshes at the provider.
    var refreshes: Int {
        log.entries.filter { $0.endpoint == .token && $0["grant_type"] == "refresh_token" }.count
    }

    /// The number of stored token rows.
    func rowCount() throws -> Int64 { try database.number("SELECT count(*) FROM provider_tokens") }

    var database: DatabaseProbe { DatabaseProbe(path: base.configuration.database.url.path ?? "") }

    /// All bytes of the database files.
    func files() -> [UInt8] { ProviderWalk(harness: base).files() }
}
