import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins with a TS.43 temporary token, which an app gets by the SIM over any network.
@Suite("Sign-in with an operator token")
struct OperatorTokenTests {
    private static let ciba = "urn:openid:params:grant-type:ciba"

    private static func form(_ request: OutboundRequest) -> [String: String] {
        let items = String(decoding: request.body, as: UTF8.self).split(separator: "&").map { item in
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(pair[0]), PercentEncoding.decodeForm(pair[1].utf8) ?? "")
        }
        return Dictionary(items) { $0 + " and " + $1 }
    }

    private static func claims(_ token: String?) throws -> JSONObject {
        let parts = try #require(token).split(separator: ".")
        return try #require(JSONValue(parsing: Base64URL.decode(String(parts[1])) ?? []).object)
    }

    @Test("The token is exchanged by a JWT, the number is asked for once, and the response is that of a sign-in")
    func jwtBearer() async throws {
        let app = try NumberApp()
        let answer = try await app.signIn()
        #expect(answer.status == 200, "\(answer.body)")
        let me = try await app.me(try #require(answer.text("token")))
        #expect(me["phone_number"]?.string == "+14155550101")
        #expect(me["phone_number_verified"]?.bool == true)
        let requests = app.http.requests(to: app.northwind.tokenURL)
        try #require(requests.count == 1)
        let form = Self.form(requests[0])
        #expect(form.keys.sorted() == ["assertion", "grant_type"])
        let claims = try Self.claims(form["assertion"])
        #expect(claims["sub"]?.string == "operatortoken:TS43-token")
        #expect(
            claims["scope"]?.string
                == "openid \(NumberApp.purpose) number-verification:device-phone-number:read")
        #expect(app.count(app.northwind.shareURL) == 1)
        #expect(!app.log.text.contains("TS43-token"))
        // The same user as by redirects.
        #expect(try await app.me(try await app.token())["user_id"] == me["user_id"])
    }

    static let pages: [(origin: String?, clientType: String, status: Int)] = [
        ("https://login.example", #","client_type":"web""#, 200), ("https://login.example", "", 401),
        ("https://evil.example", #","client_type":"web""#, 403), (nil, #","client_type":"web""#, 403),
    ]

    @Test(
        "A page of this server needs no API key, and gets cookies; a page of another origin gets none",
        arguments: pages)
    func page(origin: String?, clientType: String, status: Int) async throws {
        let app = try NumberApp()
        var headers: HTTPFields = [:]
        headers[.origin] = origin
        let answer = try await app.send(
            .post, "/auth/number/sign-in", headers,
            body: #"{"operator_token":"TS43-token","operator":"northwind"\#(clientType)}"#, apiKey: nil)
        #expect(answer.status == status, "\(answer.body)")
        let cookies = answer.headers[values: .setCookie]
        #expect(cookies.count == (status == 200 ? 2 : 0))
        #expect(cookies.allSatisfy { $0.contains("; HttpOnly; SameSite=Lax;") })
        #expect(answer.text("token") == nil && answer.text("refresh_token") == nil)
        #expect(app.http.requests(to: app.northwind.tokenURL).count == (status == 200 ? 1 : 0))
    }

    @Test("Where the operator lists CIBA and no JWTs, it is asked so, with login_hint alone, and polled at its pace")
    func backchannel() async throws {
        let app = try NumberApp()
        app.northwind.useBackchannel()
        app.northwind.script { $0.polls = ["authorization_pending", "slow_down", "authorization_pending"] }
        let answer = try await app.signIn()
        #expect(answer.status == 200, "\(answer.body)")
        let requests = app.http.requests(to: app.northwind.backchannelURL)
        try #require(requests.count == 1)
        let form = Self.form(requests[0])
        #expect(form["login_hint"] == "operatortoken:TS43-token")
        #expect(form["scope"] == "openid \(NumberApp.purpose) number-verification:device-phone-number:read")
        #expect(
            Set(form.keys) == ["client_assertion", "client_assertion_type", "client_id", "login_hint", "scope"])
        #expect(try Self.claims(form["client_assertion"])["aud"]?.string == app.northwind.backchannelURL)
        #expect(app.pauses == [.seconds(2), .seconds(7), .seconds(7)])
        let polls = app.http.requests(to: app.northwind.tokenURL).map(Self.form)
        #expect(polls.count == 4 && polls.allSatisfy { $0["grant_type"] == Self.ciba })
    }

    @Test(
        "An authentication that comes to nothing ends the sign-in",
        arguments: [
            (["access_denied"], "access_denied"), (["expired_token"], nil), (["invalid_grant"], "invalid_grant"),
            (["invalid_request"], nil),
            (Array(repeating: "authorization_pending", count: 99), "carrier_timeout"),
            (Array(repeating: "slow_down", count: 99), "carrier_timeout"),
        ] as [([String], String?)])
    func ended(_ polls: [String], _ expected: String?) async throws {
        let app = try NumberApp()
        app.northwind.useBackchannel()
        app.northwind.script { $0.polls = polls }
        let answer = try await app.signIn()
        #expect(answer.status >= 400)
        if let expected { #expect(answer.error == expected, "\(answer.body)") }
        #expect(app.count(app.northwind.shareURL) == 0)
        #expect(app.pauses.reduce(.zero, +) <= .seconds(20))
        #expect(app.count(app.northwind.tokenURL) <= (polls.count == 1 ? 1 : 11))
    }

    @Test("An operator token is posted once: a second use is refused without a request")
    func usedTwice() async throws {
        let app = try NumberApp()
        #expect(try await app.signIn().status == 200)
        #expect(try await app.signIn().error == "invalid_grant")
        #expect(app.count(app.northwind.tokenURL) == 1)
        #expect(app.count(app.northwind.shareURL) == 1)
    }

    @Test("The SIM is checked as after a redirect")
    func simSwap() async throws {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = .refuse
        let app = try NumberApp(simSwap: policy)
        app.northwind.script { $0.isSwapped = true }
        let answer = try await app.signIn()
        #expect(answer.status == 403 && answer.error == "sim_swapped", "\(answer.body)")
    }

    @Test(
        "A request that names no operator or no token is refused before an operator is asked",
        arguments: [
            (#""operator":"northwind""#, "invalid_request"), (#""operator_token":"t""#, "operator_unknown"),
            (#""operator_token":"t","mccmnc":65535"#, "operator_unknown"),
            (#""operator_token":"t","operator":"eastwind""#, "operator_unknown"),
            (#""operator_token":"t","mccmnc":"310030""#, "operator_unknown"),
            (#""operator_token":"a b","operator":"northwind""#, "invalid_request"),
            (#""operator_token":"t","operator":"northwind","client_id":"another""#, "invalid_request"),
            (#""code":"c","operator":"northwind""#, "invalid_request"),
        ])
    func malformed(_ members: String, _ expected: String) async throws {
        let app = try NumberApp()
        let answer = try await app.signIn(members)
        #expect(answer.status == 400 && answer.error == expected, "\(answer.body)")
        #expect(app.http.requests.isEmpty)
    }

    @Test(
        "What could be another hint is no token where nothing before it says what it is",
        arguments: [
            ("", "tel:+14155550102", false), ("", "+14155550102", false), ("", "14155550102", false),
            ("", "1-415-555.0102", false), ("", "ipport:84.125.93.10:4711", false), ("", "TS43-token", true),
            ("", "eyJhbGciOiJub25lIn0.e30.", true), ("te", "l:+14155550102", false), ("ts43", "14155550102", false),
            ("ts43:", "tel:+14155550102", true), ("operatortoken:", "14155550102", true),
        ])
    func anotherHint(_ prefix: String, _ token: String, _ isSent: Bool) async throws {
        for byBackchannel in [false, true] {
            let app = try NumberApp(tokenPrefix: prefix)
            if byBackchannel { app.northwind.useBackchannel() }
            let answer = try await app.signIn(#""operator_token":"\#(token)","operator":"northwind""#)
            #expect(answer.status == (isSent ? 200 : 400), "\(answer.body)")
            #expect(answer.error == (isSent ? nil : "invalid_request"))
            #expect((app.count(app.northwind.tokenURL) > 0) == isSent)
            #expect(app.count(app.northwind.backchannelURL) == (isSent && byBackchannel ? 1 : 0))
        }
    }

    @Test("The operator may also be named by its network, and the client by its id")
    func byNetwork() async throws {
        let app = try NumberApp()
        let answer = try await app.signIn(#""operator_token":"t","mccmnc":310020,"client_id":"latchkey""#)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(app.count(app.southwind.tokenURL) == 1)
    }

    @Test(
        "An unrecognised device and missing consent are told alike, wherever the operator says it",
        arguments: [
            ("login_required", "not_on_mobile_network"), ("interaction_required", "not_on_mobile_network"),
            ("account_selection_required", "not_on_mobile_network"), ("consent_required", "consent_required"),
        ])
    func refusedTokens(_ code: String, _ expected: String) async throws {
        let refusal: FakeOperator.Answer = { _ in .json(#"{"error":"\#(code)"}"#, status: 400) }
        let byJWT = try NumberApp()
        byJWT.northwind.script { $0.token = refusal }
        let answer = try await byJWT.signIn()
        #expect(answer.status == 401 && answer.error == expected, "\(answer.body)")
        #expect(try await byJWT.outcome()["error"] == expected, "for a code")
        let byBackchannel = try NumberApp()
        byBackchannel.northwind.useBackchannel()
        byBackchannel.northwind.script { $0.polls = [code] }
        #expect(try await byBackchannel.signIn().error == expected, "at a poll")
        byBackchannel.northwind.script { $0.backchannel = refusal }
        let again = try await byBackchannel.signIn(#""operator_token":"another","operator":"northwind""#)
        #expect(again.error == expected, "\(again.body)")
    }

    @Test("What the operator refuses is told by its code", arguments: ["invalid_grant", "invalid_client"])
    func refused(_ code: String) async throws {
        let app = try NumberApp()
        app.northwind.script { $0.token = { _ throws(OutboundError) in .json(#"{"error":"\#(code)"}"#, status: 400) } }
        let answer = try await app.signIn()
        #expect(answer.error == (code == "invalid_client" ? "carrier_error" : code), "\(answer.body)")
    }
}
