import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("Backchannel authentication at an operator")
struct OperatorBackchannelTests {
    let operators = OperatorHarness()
    private static let endpoint = OperatorHarness.issuer + "/bc-authorize"

    private func start(_ hint: String?, _ changes: [String: String?] = [:]) async throws -> Response {
        let form: [String: String?] = [
            "scope": OperatorHarness.scope, "login_hint": hint, "client_assertion_type": OperatorHarness.assertionType,
            "client_assertion": try operators.assertion(for: Self.endpoint),
        ].merging(changes) { $1 }
        return try await operators.carriers.post(
            "/operators/northwind/bc-authorize", form.compactMapValues(\.self).map { ($0.key, $0.value) })
    }

    private func token() throws -> String {
        "operatortoken:" + (try operators.simulator.makeOperatorToken(at: "northwind").required)
    }

    private func poll(_ id: String, after seconds: Int64 = 5, elapsed: inout Int64) async throws -> Response {
        operators.carriers.clock.advance(bySeconds: seconds)
        elapsed += seconds
        let now = Int64(OperatorHarness.start) + elapsed
        return try await operators.token([
            "grant_type": OperatorHarness.ciba, "auth_req_id": id,
            "client_assertion": try operators.assertion(changing: ["iat": "\(now)", "exp": "\(now + 60)"]),
            "client_assertion_type": OperatorHarness.assertionType,
        ])
    }

    @Test("An operator token is approved silently; the id is good once")
    func silent() async throws {
        let started = try await start(try token()).object()
        #expect(started["interval"]?.integer == 5)
        #expect(started["expires_in"]?.integer == 120)
        let id = try started["auth_req_id"].required.string.required
        var elapsed: Int64 = 0
        let tokens = try await poll(id, elapsed: &elapsed).object()
        let idToken = try SignedToken(tokens["id_token"]?.string ?? "")
        #expect(idToken.claims["urn:openid:params:jwt:claim:auth_req_id"]?.string == id)
        #expect(try Refused(try await poll(id, elapsed: &elapsed)) == Refused(400, "invalid_grant"))
        let number = try await operators.share(tokens["access_token"]?.string)
        #expect(try number.object()["devicePhoneNumber"]?.string == "+12025550123")
    }

    @Test("A poll before its time is told to slow down, and the interval grows by five seconds")
    func slowDown() async throws {
        let id = try await start("tel:+12025550123").object()["auth_req_id"]?.string ?? ""
        var elapsed: Int64 = 0
        #expect(try Refused(try await poll(id, elapsed: &elapsed)) == Refused(400, "authorization_pending"))
        #expect(try Refused(try await poll(id, after: 4, elapsed: &elapsed)) == Refused(400, "slow_down"))
        #expect(try Refused(try await poll(id, after: 9, elapsed: &elapsed)) == Refused(400, "slow_down"))
        #expect(try Refused(try await poll(id, after: 15, elapsed: &elapsed)) == Refused(400, "authorization_pending"))
    }

    @Test("A user with a named number decides", arguments: [true, false])
    func decision(isApproved: Bool) async throws {
        let id = try await start("tel:+12025550187").object()["auth_req_id"]?.string ?? ""
        var elapsed: Int64 = 0
        #expect(try Refused(try await poll(id, elapsed: &elapsed)) == Refused(400, "authorization_pending"))
        let path = "/operators/northwind/bc-authorize/latest/\(isApproved ? "approve" : "deny")"
        #expect(try await operators.carriers.post(path, []).status == .ok)
        let end = try await poll(id, elapsed: &elapsed)
        #expect(try Refused(end) == (isApproved ? Refused(200, nil) : Refused(400, "access_denied")))
        let elsewhere = "/operators/harbor/bc-authorize/\(id)/approve"
        #expect(try await operators.carriers.post(elsewhere, []).status == .notFound)
    }

    @Test("A request expires")
    func expiry() async throws {
        let id = try await start(try token()).object()["auth_req_id"]?.string ?? ""
        var elapsed: Int64 = 0
        #expect(try Refused(try await poll(id, after: 120, elapsed: &elapsed)) == Refused(400, "expired_token"))
    }

    static let refusals: [(what: String, hint: String?, changes: [String: String?], refused: Refused)] = [
        ("no hint", nil, [:], Refused(400, "invalid_request")),
        ("another hint beside it", "tel:+12025550123", ["login_hint_token": "x"], Refused(400, "invalid_request")),
        ("an ID token as hint", "tel:+12025550123", ["id_token_hint": "x"], Refused(400, "invalid_request")),
        ("an unknown number", "tel:+12025559999", [:], Refused(400, "unknown_user_id")),
        ("a number without tel", "+12025550123", [:], Refused(400, "unknown_user_id")),
        ("an address", "ipport:80.90.34.2", [:], Refused(400, "unknown_user_id")),
        ("an unknown operator token", "operatortoken:x", [:], Refused(400, "unknown_user_id")),
        (
            "no openid", "tel:+12025550123",
            ["scope": "dpv:FraudPreventionAndDetection number-verification:verify"], Refused(400, "invalid_request")
        ),
        ("no purpose", "tel:+12025550123", ["scope": "openid sim-swap:check"], Refused(400, "invalid_scope")),
        ("no client", "tel:+12025550123", ["client_assertion": nil], Refused(401, "invalid_client")),
        ("a request object that is none", "tel:+12025550123", ["request": "x"], Refused(400, "invalid_request_object")),
    ]

    @Test("Requests that break a rule of the profile are refused", arguments: refusals.map(\.what))
    func refused(_ what: String) async throws {
        let row = try Self.refusals.first { $0.what == what }.required
        #expect(try Refused(try await start(row.hint, row.changes)) == row.refused)
    }

    @Test("The assertion is for the backchannel endpoint, and the request may be signed")
    func audienceAndSignature() async throws {
        let elsewhere = try await start("tel:+12025550123", ["client_assertion": try operators.assertion()])
        #expect(try Refused(elsewhere) == Refused(401, "invalid_client"))
        let object = try operators.jwt(
            [
                "iss": #""shop""#, "aud": "\"\(Self.endpoint)\"", "iat": "\(OperatorHarness.start)",
                "exp": "\(OperatorHarness.start + 60)", "jti": #""b-1""#, "login_hint": #""tel:+12025550123""#,
                "scope": "\"\(OperatorHarness.scope)\"",
            ], key: Harness.signingKey)
        #expect(try await start(nil, ["request": object, "scope": nil]).status == .ok)
    }
}
