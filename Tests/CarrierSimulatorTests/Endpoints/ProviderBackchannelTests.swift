import CarrierSimulator
import Crypto
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

/// Backchannel authentication at a provider that is not a carrier (CIBA).
@Suite("Backchannel authentication at a provider")
struct ProviderBackchannelTests {
    let provider = Harness(carriers: CarrierSimulator.Carrier.otherProviders)
    private static let endpoint = "/providers/acme/bc-authorize"
    private static let jane = "jane.doe@example.com"
    private static let other = Forms.basic(id: "other", secret: "other-secret")

    /// The faults that only these tests cover.
    static let faults: [CarrierSimulator.Fault] = [
        .ciba500, .cibaSlow, .cibaNotJSON, .cibaRedirect, .cibaMissingID, .cibaMissingExpiresIn, .cibaLongInterval,
        .cibaUserCode, .cibaPending, .cibaSlowDown, .cibaExpired, .cibaDenied, .notificationMissingToken,
        .notificationLost, .notificationWithTokens,
    ]

    private var simulator: CarrierSimulator { provider.simulator }
    private var authorization: String { Forms.basic(id: Harness.clientID, secret: Harness.secret) }

    private func start(
        _ changes: [String: String?] = [:], at endpoint: String = Self.endpoint, by authorization: String? = nil
    ) async throws -> Response {
        let form: [String: String?] = ["scope": "openid email", "login_hint": Self.jane].merging(changes) { $1 }
        return try await provider.post(
            endpoint, form.compactMapValues(\.self).map { ($0.key, $0.value) },
            headers: [.authorization: authorization ?? self.authorization])
    }

    private func id(_ changes: [String: String?] = [:]) async throws -> String {
        try await start(changes).object()["auth_req_id"].required.string.required
    }

    private func poll(
        _ id: String?, after seconds: Int64 = 5, at name: String = "acme", by authorization: String? = nil
    ) async throws -> Response {
        provider.clock.advance(bySeconds: seconds)
        let form = [("grant_type", "urn:openid:params:grant-type:ciba")] + (id.map { [("auth_req_id", $0)] } ?? [])
        return try await provider.post(
            "/providers/\(name)/token", form, headers: [.authorization: authorization ?? self.authorization])
    }

    private func refused(_ response: Response) throws -> Refused { try Refused(response) }

    @Test("The metadata lists the endpoint and the modes, at OpenID providers that are no carriers only")
    func metadata() async throws {
        let path = "/.well-known/openid-configuration"
        let document = try await provider.get("/providers/acme" + path).object()
        #expect(document["backchannel_authentication_endpoint"]?.string == Harness.base + Self.endpoint)
        #expect(document["backchannel_token_delivery_modes_supported"]?.array == ["poll", "ping"])
        simulator.setFaults([.discoveryNoBackchannel], for: "acme")
        let without = try await provider.get("/providers/acme" + path).object()
        #expect(without["backchannel_authentication_endpoint"] == nil)
        #expect(try refused(try await start()) == Refused(400, "unauthorized_client"))
    }

    @Test("A user decides, and the tokens are for this user, once")
    func decisions() async throws {
        let started = try await start(["login_hint": "ravi.okafor@example.net"]).object()
        #expect(started["interval"]?.integer == 5)
        #expect(started["expires_in"]?.integer == 120)
        let id = try started["auth_req_id"].required.string.required
        #expect(try refused(try await poll(id)) == Refused(400, "authorization_pending"))
        #expect(try await provider.post("\(Self.endpoint)/latest/approve", []).status == .ok)
        let tokens = try await poll(id).object()
        #expect(tokens["refresh_token"]?.string != nil)
        let claims = try SignedToken(tokens["id_token"]?.string ?? "").claims
        // Only the mode push has it.
        #expect(claims["urn:openid:params:jwt:claim:auth_req_id"] == nil)
        #expect(claims["nonce"] == nil)
        let user = try await provider.get(
            "/providers/acme/userinfo",
            headers: [.authorization: "Bearer \(tokens["access_token"]?.string ?? "")"]
        ).object()
        #expect(user["email"]?.string == "ravi.okafor@example.net")
        #expect(try refused(try await poll(id)) == Refused(400, "invalid_grant"))

        let denied = try await self.id()
        let path = "\(Self.endpoint)/\(denied)/deny"
        #expect(try await provider.post(path, [("error", "transaction_failed")]).status == .ok)
        #expect(try refused(try await poll(denied)) == Refused(400, "transaction_failed"))
        #expect(try await provider.post("/providers/globex/bc-authorize/\(denied)/deny", []).status == .notFound)
    }

    @Test("The id of a request is good for its client and its provider")
    func otherClients() async throws {
        let id = try await id()
        _ = try await simulator.complete(id, .approved)
        #expect(try refused(try await poll(id, by: Self.other)) == Refused(400, "invalid_grant"))
        #expect(try refused(try await poll(id, at: "globex")) == Refused(400, "invalid_grant"))
        #expect(try refused(try await poll("unknown")) == Refused(400, "invalid_grant"))
        #expect(try refused(try await poll(nil)) == Refused(400, "invalid_request"))
        #expect(try await poll(id).status == .ok)
    }

    @Test("A poll before its time is told to slow down, and a request expires")
    func pace() async throws {
        let id = try await id(["requested_expiry": "60"])
        #expect(try refused(try await poll(id, after: 0)) == Refused(400, "authorization_pending"))
        #expect(try refused(try await poll(id, after: 4)) == Refused(400, "slow_down"))
        #expect(try refused(try await poll(id, after: 9)) == Refused(400, "slow_down"))
        #expect(try refused(try await poll(id, after: 15)) == Refused(400, "authorization_pending"))
        _ = try await simulator.complete(id, .approved)
        #expect(try refused(try await poll(id, after: 32)) == Refused(400, "expired_token"))
    }

    static let refusals: [(what: String, changes: [String: String?], refused: Refused)] = [
        ("no hint", ["login_hint": nil], Refused(400, "invalid_request")),
        ("two hints", ["login_hint_token": "x"], Refused(400, "invalid_request")),
        ("an unknown user", ["login_hint": "nobody@example.com"], Refused(400, "unknown_user_id")),
        (
            "an unknown token as hint", ["login_hint": nil, "login_hint_token": "x"],
            Refused(400, "expired_login_hint_token")
        ),
        (
            "an ID token that the provider did not issue", ["login_hint": nil, "id_token_hint": "e30.e30.e30"],
            Refused(400, "invalid_request")
        ),
        ("no openid", ["scope": "email"], Refused(400, "invalid_scope")),
        (
            "a long binding message", ["binding_message": String(repeating: "m", count: 65)],
            Refused(400, "invalid_binding_message")
        ),
        ("an expiry of 0", ["requested_expiry": "0"], Refused(400, "invalid_request")),
        ("a request object that is none", ["request": "x"], Refused(400, "invalid_request")),
    ]

    @Test("Requests that break a rule are refused", arguments: refusals.map(\.what))
    func refused(_ what: String) async throws {
        let row = try Self.refusals.first { $0.what == what }.required
        #expect(try refused(try await start(row.changes)) == row.refused)
    }

    @Test("A client must authenticate")
    func authentication() async throws {
        let wrong = Forms.basic(id: Harness.clientID, secret: "wrong")
        #expect(try refused(try await start(by: wrong)) == Refused(401, "invalid_client"))
        #expect(try refused(try await poll(try await id(), by: wrong)) == Refused(401, "invalid_client"))
    }

    @Test(
        "A fault ends every poll, or the first one",
        arguments: [
            (.cibaPending, ["authorization_pending", "authorization_pending"]), (.cibaSlowDown, ["slow_down", nil]),
            (.cibaExpired, ["expired_token", "expired_token"]), (.cibaDenied, ["access_denied", "access_denied"]),
        ] as [(CarrierSimulator.Fault, [String?])])
    func polls(fault: CarrierSimulator.Fault, codes: [String?]) async throws {
        let id = try await id()
        _ = try await simulator.complete(id, .approved)
        simulator.setFaults([fault], for: "acme")
        for code in codes { #expect(try refused(try await poll(id, after: 11)).code == code) }
    }

    @Test("A fault changes the response to the request")
    func responses() async throws {
        let cases: [(CarrierSimulator.Fault, (Response) throws -> Bool)] = [
            (.ciba500, { $0.status == .internalServerError }), (.cibaNotJSON, { $0.text.contains("<!doctype html>") }),
            (.cibaRedirect, { $0.headers[.location] != nil }),
            (.cibaMissingID, { try $0.object()["auth_req_id"] == nil }),
            (.cibaMissingExpiresIn, { try $0.object()["expires_in"] == nil }),
            (.cibaLongInterval, { try $0.object()["interval"]?.integer == 31 }),
            (.cibaUserCode, { try $0.object()["error"]?.string == "missing_user_code" }),
        ]
        for (fault, shows) in cases {
            simulator.setFaults([], for: "acme")
            #expect(try !shows(try await start()), "\(fault)")
            simulator.setFaults([fault], for: "acme")
            #expect(try shows(try await start()), "\(fault)")
        }
        for (code, error) in [("1111", "invalid_user_code"), ("2468", nil)] {
            simulator.setFaults([.cibaUserCode], for: "acme")
            #expect(try refused(try await start(["user_code": code])).code == error)
        }
        simulator.setFaults([.cibaSlow], for: "acme")
        _ = try await start()
        #expect(provider.pauses.all == [.seconds(30)])
    }

    @Test("A signed request has its times and nothing beside it")
    func signed() async throws {
        let now = provider.clock.now.secondsSinceEpoch
        let good = [
            "iss": #""shop""#, "aud": "\"\(Harness.base)/providers/acme\"", "iat": "\(now)", "nbf": "\(now)",
            "exp": "\(now + 60)", "jti": #""b-1""#, "login_hint": "\"\(Self.jane)\"", "scope": #""openid""#,
            "requested_expiry": "60",
        ]
        func ask(_ changes: [String: String?], beside: [String: String?] = [:]) async throws -> Response {
            let object = try OperatorHarness().jwt(good, changing: changes, key: Harness.signingKey)
            return try await start(["scope": nil, "login_hint": nil, "request": object].merging(beside) { $1 })
        }
        #expect(try await ask([:]).object()["expires_in"]?.integer == 60)
        #expect(try refused(try await ask([:], beside: ["scope": "openid"])) == Refused(400, "invalid_request"))
        for name in ["iss", "aud", "iat", "nbf", "exp", "jti"] {
            #expect(try refused(try await ask([name: nil])) == Refused(400, "invalid_request_object"), "\(name)")
        }
        #expect(try refused(try await ask(["sub": #""shop""#])) == Refused(400, "invalid_request_object"))
        simulator.setFaults([.requestObjectRequired], for: "acme")
        #expect(try refused(try await start()) == Refused(400, "invalid_request"))
    }

    /// A fault of notifications, and the requests that it leads to: the bearer token and the id are right or not.
    static let pings: [(fault: CarrierSimulator.Fault?, hasToken: [Bool], hasID: Bool)] = [
        (nil, [true], true), (.notificationTwice, [true, true], true), (.notificationWrongToken, [false], true),
        (.notificationMissingToken, [false], true), (.notificationOtherID, [true], false),
        (.notificationLost, [], true), (.notificationWithTokens, [true], true),
    ]

    @Test("A client with a notification endpoint is told of the decision, and must send a token for that")
    func pings() async throws {
        let peer = try RawHTTPPeer { connection in
            while connection.readRequest() != nil { connection.send("HTTP/1.1 204 No Content\r\n\r\n") }
        }
        defer { peer.stop() }
        simulator.register(notificationEndpoint: peer.url("/ping"), of: Harness.clientID, at: "acme")
        #expect(try refused(try await start()) == Refused(400, "invalid_request"))
        let token = String(repeating: "t", count: 22)
        for row in Self.pings {
            simulator.setFaults(row.fault.map { [$0] } ?? [], for: "acme")
            let id = try await id(["client_notification_token": token])
            let before = peer.requests.count
            #expect(try await simulator.complete(id, .approved) == row.hasToken.map { _ in 204 })
            let sent = peer.requests.dropFirst(before)
            #expect(sent.map { $0.fields["authorization"] == "Bearer \(token)" } == row.hasToken, "\(row)")
            #expect(sent.allSatisfy { $0.text.contains(id) == row.hasID }, "\(row)")
            let hasTokens = row.fault == .notificationWithTokens
            #expect(sent.allSatisfy { $0.text.contains("id_token") == hasTokens }, "\(row)")
        }
        simulator.register(notificationEndpoint: nil, of: Harness.clientID, at: "acme")
        simulator.setFaults([], for: "acme")
        #expect(try await simulator.complete(try await id(), .approved).isEmpty)
    }
}
