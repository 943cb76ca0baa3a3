import Foundation
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Backchannel

/// A Latchkey with an OpenID provider, and the calls of backchannel authentication there.
struct ProviderBackchannelCalls: Sendable {
    static let path = "/auth/bank/backchannel"
    static let pending = OutboundResponse.json(#"{"error":"authorization_pending"}"#, status: 400)
    static let slowDown = OutboundResponse.json(#"{"error":"slow_down"}"#, status: 400)

    let app: TestApp

    /// - Parameter other: One whose store, carrier and clock it shares, as another instance does.
    init(
        _ mode: BackchannelTokenDeliverySetting = .poll, beside other: TestApp? = nil, vaultKeys: [EncryptionKey] = [],
        registration: TestRegistration = TestRegistration(), limits: RequestLimits = RequestLimits(),
        client: (inout SignInConfiguration.Client) -> Void = { _ in },
        rules: (inout ServerRules) -> Void = { _ in },
        party: (inout RelyingParty.Configuration) -> Void = { _ in },
        backchannel: (inout BackchannelSettings) -> Void = { _ in }
    ) throws {
        app = try TestApp(
            beside: other, vaultKeys: vaultKeys, client: client, registration: registration, limits: limits,
            rules: {
                $0.backchannelTokenDelivery = mode
                rules(&$0)
            }, party: party, backchannel: backchannel)
        if other == nil {
            answer(with: Self.pending)
            // CIBA has no nonce.
            app.carrier.script { $0.nonce = nil }
        }
    }

    /// What the token endpoint responds; nil for tokens.
    func answer(with response: OutboundResponse?) {
        app.carrier.script { script in
            guard let response else {
                script.token = nil
                return
            }
            script.token = { _ throws(OutboundError) in response }
        }
    }

    /// How often the token endpoint was polled.
    var polls: Int { app.carrier.tokenPosts }

    func start(_ body: [String: String] = [:], apiKey: String? = TestApp.apiKey) async throws -> Answer {
        var members = body
        if !body.keys.contains(where: { $0.hasSuffix("hint") || $0.hasSuffix("hint_token") }) {
            members["login_hint"] = "\"jane@example.com\""
        }
        return try await app.send(
            .post, Self.path, [.contentType: "application/json"],
            body: TokenText.object(members.map { (name: $0.key, json: $0.value) }), apiKey: apiKey)
    }

    /// Starts a sign-in and returns its handle.
    func handle() async throws -> String { try #require(try await start().text("auth_req_id")) }

    /// Polls at a moment when this server admits it.
    /// - Parameter seconds: How much later, by the wall clock.
    func poll(_ handle: String, after seconds: Int64 = 0, apiKey: String? = TestApp.apiKey) async throws -> Answer {
        app.uptime.advance(by: .seconds(1))
        app.clock.advance(bySeconds: seconds)
        return try await app.send(.get, Self.path + "/" + handle, apiKey: apiKey)
    }

    func cancel(_ handle: String, apiKey: String? = TestApp.apiKey) async throws -> Answer {
        try await app.send(.delete, Self.path + "/" + handle, apiKey: apiKey)
    }

    /// The parameters of the last authentication request.
    func asked() throws -> [String: String] {
        let request = try #require(app.carrier.http.requests(to: FakeCarrier.providerBackchannelURL).last)
        let pairs = String(decoding: request.body, as: UTF8.self).split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            return (sides[0], sides.count == 2 ? sides[1].removingPercentEncoding ?? "?" : "")
        }
        return Dictionary(pairs) { first, _ in first + " twice" }
    }

    func notificationToken() throws -> String { try #require(try asked()["client_notification_token"]) }

    /// Sends a ping; by default that of the latest request.
    func ping(
        _ id: String? = "PROVIDER-request", token: String? = nil, path: String = Self.path + "/notification",
        more: [(name: String, json: String)] = []
    ) async throws -> Answer {
        let members = (id.map { [(name: "auth_req_id", json: "\"\($0)\"")] } ?? []) + more
        return try await app.send(
            .post, path,
            [.contentType: "application/json", .authorization: "Bearer \(try token ?? notificationToken())"],
            body: TokenText.object(members), apiKey: nil)
    }

    func record(_ handle: String) async throws -> BackchannelAuthenticationRecord {
        try #require(
            try await app.testStore.store.backchannelAuthentication(
                handle: TokenHash(sha256Of: handle), at: app.clock.now))
    }
}
