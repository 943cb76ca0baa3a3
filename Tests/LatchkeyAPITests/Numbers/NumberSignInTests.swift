import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Sign-ins by phone number through redirects, and what they must not let happen.
@Suite("Sign-in by phone number")
struct NumberSignInTests {
    private typealias Policy = SIMSwapPolicy

    @Test("The operator is asked without a page, for one purpose, with PKCE, and by no app's wish")
    func authorizationRequest() async throws {
        let app = try NumberApp()
        let parameters = try await app.start("mccmnc=310012&login_hint=tel:%2B14155550199").parameters
        #expect(parameters["prompt"] == "none")
        #expect(
            parameters["scope"] == "openid \(NumberApp.purpose) number-verification:device-phone-number:read")
        #expect(parameters["client_id"] == "latchkey")
        #expect(parameters["redirect_uri"] == "https://login.example/base/auth/number/callback")
        #expect(parameters["code_challenge_method"] == "S256")
        #expect(Set(parameters.keys).isDisjoint(with: ["login_hint", "acr_values", "mccmnc", "operator"]))
    }

    @Test("The code is redeemed once, the number is asked for once, and the user has it verified by the operator")
    func signIn() async throws {
        let app = try NumberApp()
        let me = try await app.me(try await app.token())
        #expect(me["phone_number"]?.string == "+14155550101")
        #expect(me["phone_number_verified"]?.bool == true)
        #expect(me["phone_number_verified_by"]?.string == app.northwind.issuer)
        #expect(me["phone_number_verified_at"]?.integer == app.clock.now.secondsSinceEpoch)
        #expect(app.count(app.northwind.tokenURL) == 1)
        #expect(app.count(app.northwind.shareURL) == 1)
        #expect(app.count(app.northwind.swapURL) == 0)
        let headers = app.http.requests(to: app.northwind.shareURL).first?.headers ?? []
        #expect(headers.first { $0.name == "x-correlator" }?.value == "corr-1")
        #expect(app.http.requests(to: app.southwind.api).isEmpty)
        let line = try #require(app.log.signIns.last)
        #expect(line.metadata["provider"] == "number/northwind")
        #expect(line.metadata["sim_swap"] == nil)
        for secret in ["ACCESS-", "4155550101", "SUBJECT"] { #expect(!app.log.text.contains(secret)) }
    }

    @Test("The operator is chosen by its name or by a network, and both must fit")
    func operatorChoice() async throws {
        let app = try NumberApp()
        for (query, name) in [
            ("operator=northwind", "northwind"), ("operator=southwind", "southwind"), ("mccmnc=310010", "northwind"),
            ("mccmnc=310012", "northwind"), ("mcc=310&mnc=020", "southwind"),
            ("mccmnc=310020&operator=southwind", "southwind"),
        ] {
            #expect(try await app.start(query).location.hasPrefix("https://auth.\(name).example/authorize?"))
        }
        for query in [
            "operator=eastwind", "mccmnc=310030", "mccmnc=310010&operator=southwind", "operator=North", "mccmnc=65535",
            "mccmnc=--", "mcc=65535&mnc=65535",
        ] {
            let answer = try await app.send(.get, NumberApp.query(query), [.accept: "application/json"])
            #expect(answer.status == 400 && answer.error == "operator_unknown", "\(query)")
        }
        let answer = try await app.send(.get, NumberApp.query("tracking_id=t"), [.accept: "application/json"])
        #expect(answer.error == "operator_unknown" && answer.description.contains("operator or mccmnc"))
    }

    @Test(
        "A start with what operators ignore or refuse is refused",
        arguments: ["scope=openid", "acr_values=a3", "context=Pay", "prompt=login", "max_age=60"])
    func notForNumbers(_ parameter: String) async throws {
        let app = try NumberApp()
        let query = NumberApp.query("operator=northwind&" + parameter)
        #expect(try await app.send(.get, query, [.accept: "application/json"]).error == "invalid_request")
        _ = try await app.start("operator=northwind&prompt=none")
    }

    @Test("The provider is listed once, and takes no code from an app")
    func provider() async throws {
        let app = try NumberApp()
        let providers = try await app.send(.get, "/auth/providers").json?["providers"]?.array ?? []
        #expect(providers.map { $0.object?["id"]?.string } == ["number"])
        #expect(providers.map { $0.object?["kind"]?.string } == ["camara"])
        let body = #"{"code":"c","redirect_uri":"com.example.app://cb","code_verifier":"\#(NumberApp.verifier)"}"#
        #expect(try await app.send(.post, "/auth/number/sign-in", body: body).error == "invalid_request")
        #expect(app.count(app.northwind.tokenURL) == 0)
    }

    // MARK: Who the user is

    @Test("The subject of the ID token is the user, whatever the number")
    func subject() async throws {
        let app = try NumberApp()
        let first = try await app.me(try await app.token())
        app.northwind.script { $0.number = "+14155550102" }
        let again = try await app.me(try await app.token())
        #expect(again["user_id"] == first["user_id"])
        #expect(again["phone_number"]?.string == "+14155550102")
        #expect(again["phone_number_verified"]?.bool == true)
        // The same subject at another operator is another user.
        let other = try await app.me(try await app.token(at: app.southwind))
        #expect(other["user_id"] != first["user_id"])
    }

    @Test("Where an operator gives no ID token, the number is the user")
    func withoutIDToken() async throws {
        let app = try NumberApp()
        app.northwind.script { $0.subject = nil }
        let first = try await app.me(try await app.token())
        #expect(try await app.me(try await app.token())["user_id"] == first["user_id"])
        app.northwind.script { $0.number = "+14155550102" }
        #expect(try await app.me(try await app.token())["user_id"] != first["user_id"])
        // A subject that looks like the number is another user.
        app.northwind.script { ($0.subject, $0.number) = ("+14155550101", "+14155550101") }
        #expect(try await app.me(try await app.token())["user_id"] != first["user_id"])
    }

    @Test("A recycled number is a new user's, and the former owner's is no longer verified")
    func recycled() async throws {
        let app = try NumberApp()
        let former = try await app.token()
        let owner = try await app.me(former)
        #expect(owner["phone_number_verified"]?.bool == true)
        app.northwind.script { $0.subject = "SUBJECT-of-joe" }
        let new = try await app.me(try await app.token())
        #expect(new["user_id"] != owner["user_id"])
        #expect(new["phone_number_verified"]?.bool == true)
        try await hasLostNumber(former, owner, app)
    }

    @Test("Where users must register, a recycled number ends the former owner's verification at once")
    func recycledWithRegistration() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        rules.requiredAttributes = []
        let app = try NumberApp(registration: rules)
        let key = try #require(try await app.outcome()["state_key"])
        let registered = try await app.send(.post, "/users", body: #"{"state_key":"\#(key)"}"#)
        let former = try #require(registered.text("token"), "\(registered.body)")
        let owner = try await app.me(former)
        #expect(owner["phone_number_verified"]?.bool == true)
        app.northwind.script { $0.subject = "SUBJECT-of-joe" }
        #expect(try await app.outcome()["action"] == "register")
        try await hasLostNumber(former, owner, app)
    }

    private func hasLostNumber(_ token: String, _ owner: JSONObject, _ app: NumberApp) async throws {
        let left = try await app.me(token)
        #expect(left["user_id"] == owner["user_id"])
        #expect(left["phone_number"]?.string == "+14155550101")
        #expect(left["phone_number_verified"]?.bool == false)
        #expect(left["phone_number_verified_by"]?.isNull == true)
    }

    @Test("A user who edits the number has it unverified, and the operator does not replace it")
    func edited() async throws {
        let app = try NumberApp()
        let token = try await app.token()
        let headers: HTTPFields = [.authorization: "Bearer \(token)", .contentType: "application/json"]
        let answer = try await app.send(.patch, "/users/me", headers, body: #"{"phone_number":"+14155550199"}"#)
        #expect(answer.status == 200)
        let after = try await app.me(try await app.token())
        #expect(after["phone_number"]?.string == "+14155550199")
        #expect(after["phone_number_verified"]?.bool == false)
    }

    // MARK: What is refused

    @Test("The response of another operator is refused before its code is sent anywhere")
    func otherOperator() async throws {
        let app = try NumberApp()
        let authorization = try await app.start()
        let nonce = try #require(authorization.parameters["nonce"])
        let outcome = try await app.finish(
            authorization, code: app.southwind.authorize(nonce: nonce), issuer: app.southwind.issuer)
        #expect(outcome["error"] == "issuer_mismatch")
        #expect(app.count(app.northwind.tokenURL) + app.count(app.southwind.tokenURL) == 0)
        // Without iss, the code goes to the operator that was asked, which does not know it.
        let second = try await app.start()
        let other = app.southwind.authorize(nonce: try #require(second.parameters["nonce"]))
        #expect(try await app.finish(second, code: other)["error"] == "invalid_grant")
        #expect(app.count(app.southwind.tokenURL) == 0)
    }

    @Test("An operator that says that its responses have iss must send it")
    func issuerMissing() async throws {
        let app = try NumberApp()
        app.northwind.script { $0.metadata["authorization_response_iss_parameter_supported"] = "true" }
        #expect(try await app.outcome()["error"] == "issuer_mismatch")
        #expect(app.count(app.northwind.tokenURL) == 0)
    }

    @Test("The token of another sign-in is refused, and the number is not asked for")
    func otherNonce() async throws {
        let app = try NumberApp()
        let other = try await app.start()
        let authorization = try await app.start()
        let code = app.northwind.authorize(nonce: try #require(other.parameters["nonce"]))
        #expect(try await app.finish(authorization, code: code)["error"] == "invalid_id_token")
        #expect(app.count(app.northwind.shareURL) == 0)
    }

    @Test(
        "An ID token of another issuer, for another client or of another access token is refused",
        arguments: [
            ("iss", "\"https://auth.southwind.example\""), ("aud", "\"another\""),
            ("at_hash", "\"AAAAAAAAAAAAAAAAAAAAAA\""),
        ])
    func wrongIDToken(_ claim: String, _ value: String) async throws {
        let app = try NumberApp()
        app.northwind.script { $0.claims[claim] = value }
        #expect(try await app.outcome()["error"] == "invalid_id_token")
        #expect(app.count(app.northwind.shareURL) == 0)
    }

    @Test("A code that a sign-in has brought works in no other")
    func usedCode() async throws {
        let app = try NumberApp()
        let first = try await app.start()
        let code = app.northwind.authorize(nonce: try #require(first.parameters["nonce"]))
        #expect(try await app.finish(first, code: code)["status"] == "success")
        #expect(try await app.finish(try await app.start(), code: code)["error"] == "invalid_grant")
        #expect(app.count(app.northwind.tokenURL) == 1)
    }

    @Test(
        "What an operator's authorization endpoint refuses",
        arguments: [
            ("login_required", "not_on_mobile_network"), ("interaction_required", "not_on_mobile_network"),
            ("consent_required", "consent_required"), ("access_denied", "access_denied"),
            ("server_error", "carrier_error"),
        ])
    func refusedAtAuthorization(_ code: String, _ expected: String) async throws {
        let app = try NumberApp()
        let state = try #require(try await app.start().parameters["state"])
        let outcome = try await app.finish("state=\(state)&error=\(code)")
        #expect(outcome["status"] == "failure")
        #expect(outcome["error"] == expected, "\(outcome)")
    }

    @Test(
        "What the API of an operator refuses",
        arguments: [
            (403, "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK", "not_on_mobile_network"),
            (403, "NUMBER_VERIFICATION.INVALID_TOKEN_CONTEXT", "carrier_error"),
            (401, "UNAUTHENTICATED", "carrier_error"), (403, "PERMISSION_DENIED", "carrier_error"),
            (429, "QUOTA_EXCEEDED", "temporarily_unavailable"), (429, "TOO_MANY_REQUESTS", "temporarily_unavailable"),
            (400, "INVALID_ARGUMENT", "carrier_error"), (503, "UNAVAILABLE", "carrier_error"),
        ])
    func refusedByAPI(_ status: Int, _ code: String, _ expected: String) async throws {
        let app = try NumberApp()
        app.northwind.script { $0.share = { _ throws(OutboundError) in FakeOperator.error(status, code) } }
        let outcome = try await app.outcome()
        #expect(outcome["error"] == expected, "\(outcome)")
        #expect(app.count(app.northwind.shareURL) == 1)
    }

    // MARK: The SIM

    /// What the operator says of the SIM.
    enum SIM: Sendable { case unchanged, swapped, refused, lost }

    struct Row: Sendable, CustomTestStringConvertible {
        let swapped: NumberContradiction
        let unknown: NumberUncertainty
        let sim: SIM
        let error: String?
        let logged: String?

        init(
            _ swapped: NumberContradiction, _ unknown: NumberUncertainty,
            _ sim: SIM, error: String? = nil, logged: String? = nil
        ) {
            (self.swapped, self.unknown, self.sim, self.error, self.logged) = (swapped, unknown, sim, error, logged)
        }

        var testDescription: String { "if_swapped \(swapped), if_unknown \(unknown), the SIM \(sim)" }
    }

    static let rows = [
        Row(.refuse, .refuse, .unchanged, logged: "unchanged"), Row(.refuse, .refuse, .swapped, error: "sim_swapped"),
        Row(.refuse, .refuse, .refused, error: "temporarily_unavailable"),
        Row(.refuse, .refuse, .lost, error: "carrier_timeout"), Row(.refuse, .accept, .refused, logged: "unknown"),
        Row(.refuse, .accept, .lost, logged: "unknown"), Row(.refuse, .accept, .swapped, error: "sim_swapped"),
        Row(.report, .refuse, .swapped, logged: "swapped"), Row(.report, .refuse, .unchanged, logged: "unchanged"),
        Row(.report, .refuse, .lost, error: "carrier_timeout"), Row(.report, .accept, .lost, logged: "unknown"),
        Row(.off, .refuse, .swapped), Row(.off, .refuse, .lost),
    ]

    @Test("What the policy makes of the SIM", arguments: rows)
    func sim(row: Row) async throws {
        var policy = Policy()
        (policy.maximumAge, policy.ifSwapped, policy.ifUnknown) = (72, row.swapped, row.unknown)
        let app = try NumberApp(simSwap: policy)
        app.northwind.script { script in
            switch row.sim {
            case .unchanged: break
            case .swapped: script.isSwapped = true
            case .refused: script.swap = { _ throws(OutboundError) in FakeOperator.error(429, "QUOTA_EXCEEDED") }
            case .lost:
                script.swap = { _ throws(OutboundError) in
                    throw OutboundError(.timedOut, mayHaveBeenSent: true, reason: "no response")
                }
            }
        }
        let outcome = try await app.outcome()
        #expect(outcome["error"] == row.error, "\(outcome)")
        #expect((outcome["session_id"] != nil) == (row.error == nil))
        #expect(app.log.signIns.last?.metadata["sim_swap"] == row.logged)
        #expect(app.count(app.northwind.swapURL) == (row.swapped == .off ? 0 : 1))
        // Number and SIM each have a token of their own, and a refused number makes no user.
        #expect(app.count(app.northwind.tokenURL) == (row.swapped == .off ? 1 : 2))
        let body = app.http.requests(to: app.northwind.swapURL).first.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(body == (row.swapped == .off ? nil : #"{"phoneNumber":"+14155550101","maxAge":72}"#))
    }

    @Test("The answer about a SIM is not kept: the next sign-in asks again")
    func simAgain() async throws {
        var policy = Policy()
        policy.ifSwapped = .refuse
        let app = try NumberApp(simSwap: policy)
        _ = try await app.token()
        app.northwind.script { $0.isSwapped = true }
        #expect(try await app.outcome()["error"] == "sim_swapped")
        #expect(app.count(app.northwind.swapURL) == 2)
    }
}
