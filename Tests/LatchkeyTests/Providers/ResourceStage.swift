import CarrierSimulator
import Crypto
import Foundation
import LatchkeyConfiguration
import Primitives
import SignIn
import TestSupport
import Testing

/// A stage whose provider `meetings` keeps tokens, and what a user does there.
struct ResourceStage: Sendable {
    static let webURI = "https://web.example/done"
    static let key = String(repeating: "1f", count: 32)

    let stage: Stage
    var app: App { stage.app }
    var simulator: CarrierSimulator { stage.simulator }
    var log: CarrierSimulator.RequestLog { simulator.log }

    static func with(
        clock: WallClock = .system,
        pause: @escaping CarrierSimulator.Pause = { try await Task.sleep(for: $0) },
        configure: (inout Configuration) -> Void = { _ in },
        _ change: (inout Configuration.Provider) -> Void = { _ in }, _ body: (ResourceStage) async throws -> Void
    ) async throws {
        try await Stage.with(
            clock: clock,
            configure: { configuration in
                configuration.vaultKeys = EncryptionKey.of(key)
                for index in configuration.providers.indices where configuration.providers[index].id == "meetings" {
                    configuration.providers[index].storesTokens = true
                    configuration.providers[index].clients[0].redirectURIs = [webURI, Stage.redirectURI]
                    change(&configuration.providers[index])
                }
                configure(&configuration)
            }, pause: pause
        ) { stage in try await body(ResourceStage(stage: stage)) }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(app.port)\(path)" }

    /// What an app has once `meetings` approved.
    func authorizedResponse(user: String = "jane", clientID: String = Stage.clientID) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try simulator.issueCode(
            mccmnc: "meetings", clientID: clientID, redirectURI: Stage.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }), scope: "user:read",
            user: user)
        return [
            "client_id": clientID, "code": code, "redirect_uri": Stage.redirectURI, "code_verifier": verifier,
        ]
    }

    /// A sign-in with a code at `meetings`: the answer.
    func signInAnswer(
        user: String = "jane", clientID: String = Stage.clientID, at app: App? = nil
    ) async throws -> App.Answer {
        let fields = try authorizedResponse(user: user, clientID: clientID)
        return try await (app ?? self.app).send(
            "POST", "/auth/meetings/sign-in", headers: ["Content-Type: application/json"], body: App.json(fields))
    }

    /// Signs in; the session's token.
    func signIn(user: String = "jane", clientID: String = Stage.clientID) async throws -> String {
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

    /// The refreshes that came to the provider.
    var refreshes: Int {
        log.entries.filter { $0.endpoint == .token && $0["grant_type"] == "refresh_token" }.count
    }

    /// How many rows of tokens are stored.
    func rowCount() throws -> Int64 { try database.number("SELECT count(*) FROM provider_tokens") }

    var database: DatabaseProbe { DatabaseProbe(path: stage.configuration.database.url.path ?? "") }

    /// Every byte that the database has on disk.
    func files() -> [UInt8] { ProviderWalk(stage: stage).files() }
}
