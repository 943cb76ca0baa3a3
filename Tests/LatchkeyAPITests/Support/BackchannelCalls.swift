import Crypto
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Backchannel

/// A Latchkey whose client has a signing key, and the calls of backchannel authentication.
struct BackchannelCalls: Sendable {
    static let path = "/auth/zenkey-async-signin"
    static let hint = "+12025550123"

    let app: TestApp

    init(
        vaultKeys: [EncryptionKey] = [], registration: TestRegistration = TestRegistration(),
        compatibility: Compatibility = Compatibility(), limits: RequestLimits = RequestLimits(),
        clientOrigins: [String: Set<String>] = [:],
        backchannel: (inout BackchannelSettings) -> Void = { _ in }
    ) throws {
        let key = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        app = try TestApp(
            clientOrigins: clientOrigins, vaultKeys: vaultKeys, client: { $0.signingKey = key },
            registration: registration, limits: limits, compatibility: compatibility, backchannel: backchannel)
        // Carriers need not repeat the nonce.
        app.carrier.script { $0.nonce = nil }
    }

    static let body: [(name: String, json: String)] = [
        ("login_hint", "\"\(hint)\""), ("client_id", "\"client-1\""), ("scope", "\"openid\""),
        ("mccmnc", "\"310410\""), ("redirect_uri", "\"https://app.example/cb\""), ("correlation_id", "\"corr-1\""),
    ]

    func start(_ changes: [String: String?] = [:], apiKey: String? = TestApp.apiKey) async throws -> Answer {
        var body = Self.body.filter { !changes.keys.contains($0.name) }
        for (name, json) in changes { if let json { body.append((name, json)) } }
        return try await app.send(
            .post, Self.path, [.contentType: "application/json"], body: TokenText.object(body), apiKey: apiKey)
    }

    /// Starts a sign-in and returns its handle.
    func handle() async throws -> String { try #require(try await start().text("auth_req_id")) }

    /// Polls after a second.
    func poll(_ handle: String, apiKey: String? = TestApp.apiKey) async throws -> Answer {
        app.uptime.advance(by: .seconds(1))
        return try await app.send(.get, Self.path + "/" + handle, apiKey: apiKey)
    }

    func retry(_ handle: String, apiKey: String? = TestApp.apiKey) async throws -> Answer {
        try await app.send(.post, Self.path + "/" + handle, apiKey: apiKey)
    }

    func cancel(_ handle: String, apiKey: String? = TestApp.apiKey) async throws -> Answer {
        try await app.send(.delete, Self.path + "/" + handle, apiKey: apiKey)
    }

    /// The stored former identities.
    func formerIdentities(_ handle: String) async throws -> [Identity] {
        let hash = TokenHash(sha256Of: handle)
        return try #require(try await app.testStore.store.backchannelAuthentication(handle: hash, at: app.clock.now))
            .user?.portedFrom.map(\.identity) ?? []
    }

    /// The claims of the last request object at the carrier.
    func asked() throws -> JSONObject {
        let request = try #require(app.carrier.http.requests(to: FakeCarrier.backchannelAuthenticationURL).last)
        let text = try #require(try JSONValue(parsing: request.body).object?["request"]?.string)
        let payload = try #require(Base64URL.decode(String(text.split(separator: ".")[1])))
        return try #require(try JSONValue(parsing: payload).object)
    }

    func notificationToken() throws -> String { try #require(try asked()["client_notification_token"]?.string) }

    /// Sends a notification as the carrier does; by default an approval with the latest request's token.
    func notify(_ changes: [String: String?] = [:], token: String? = nil) async throws -> Answer {
        var members: [String: String?] = [
            "auth_req_id": "\"CARRIER-request\"", "state": "\"\(try asked()["state"]?.string ?? "")\"",
            "id_token": "\"\(app.carrier.idToken())\"", "access_token": "\"ACCESS-token\"", "expires_in": "\"300\"",
        ]
        members.merge(changes) { _, new in new }
        let body = TokenText.object(members.compactMap { name, json in json.map { (name: name, json: $0) } })
        return try await app.send(
            .post, BackchannelAuthentication.notificationPath,
            [.contentType: "application/json", .authorization: "Bearer \(try token ?? notificationToken())"],
            body: body, apiKey: nil)
    }
}
