import HTTPTypes
import LatchkeyAPI
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification

/// Sign-ins and verifications by digital credentials of phone numbers.
@Suite("Digital credentials")
struct DigitalCredentialTests {
    private static func app(
        _ change: @escaping (inout AggregatorRules) -> Void = { _ in }, registersUnknown: Bool = true,
        keys: [String: APIGrant] = [:]
    ) throws -> NumberApp {
        var rules = NumberSignInRules()
        rules.registersUnknown = registersUnknown
        return try NumberApp(credentialRules: rules, aggregator: change, keys: keys)
    }

    @Test("A start gives the app the aggregator's request, with a nonce of this server's own")
    func start() async throws {
        let app = try Self.app { $0.consent = "Sign in to the shop" }
        let started = try await app.startCredential(#","mccmnc":"310260","correlation_id":"corr-1""#)
        #expect(started.answer.text("strategy") == "ts43" && started.answer.integer("expires_in") == 300)
        #expect(started.answer.text("correlation_id") == "corr-1")
        let request = try #require(started.answer.json?["request"])
        #expect(request == (try JSONValue(parsing: Array(FakeAggregator.request(nonce: started.nonce).utf8))))
        let body = try #require(app.aggregator.prepared.first)
        #expect(body["nonce"]?.string == started.nonce && started.nonce.utf8.count == 43)
        #expect(body["use_case"]?.string == "GetPhoneNumber" && body["phone_number"] == nil)
        #expect(body["plmn"] == ["mcc": "310", "mnc": "260"])
        #expect(body["consent_data"]?.string == "Sign in to the shop" && body["code_hash"] == nil)
        // Without a method, it is the best one of the provider; without a network, the aggregator finds it.
        let other = try await app.send(.post, "/auth/carriers/start", body: "{}")
        #expect(other.status == 201 && other.text("sign_in_id") != started.id, "\(other.body)")
        #expect(app.aggregator.prepared.last?["plmn"] == nil)
        #expect(app.aggregator.prepared.last?["nonce"]?.string != started.nonce)
    }

    @Test(
        "The response of the wallet is taken in each of its forms",
        arguments: [
            #"{"vp_token":{"phone":"%"}}"#, #"{"vp_token":{"phone":["%"]}}"#, #"{"vp_token":"%"}"#,
            #"{"vp_token":"{\"phone\":\"%\"}"}"#,
            #"{"protocol":"openid4vp-v1-unsigned","data":{"vp_token":{"phone":"%"}}}"#,
            #"{"protocol":"openid4vp-v1-unsigned","data":"{\"vp_token\":{\"phone\":[\"%\"]}}"}"#,
        ])
    func signIn(_ form: String) async throws {
        let app = try Self.app()
        let started = try await app.startCredential()
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.confirm(started.id, form.replacing("%", with: text))
        #expect(answer.status == 200 && answer.json?["new_user"]?.bool == true, "\(answer.body)")
        let me = try await app.me(try #require(answer.text("token")))
        #expect(me["phone_number"]?.string == FakeAggregator.number)
        #expect(me["phone_number_verified_by"]?.string == FakeAggregator.base)
        let body = try #require(app.aggregator.processed.first)
        #expect(body["credential"]?.string == text && body["session_key"] == ["key": "SESSION-1"])
        // Each of the two calls has an access token of its own.
        #expect(app.count(FakeAggregator.tokenURL) == 2 && app.aggregator.processed.count == 1)
        #expect(!app.log.text.contains("4155550101"))
        let again = try await app.signInWithCredential()
        #expect(again.json?["new_user"]?.bool == false, "\(again.body)")
    }

    @Test(
        "A page of this server needs no API key, neither to begin nor to end, and gets cookies",
        arguments: [("https://login.example", true), ("https://evil.example", false), (nil, false)] as [(String?, Bool)]
    )
    func page(origin: String?, isOwn: Bool) async throws {
        let own = "https://login.example"
        let app = try Self.app { $0.credentialOrigins.append(own) }
        var headers: HTTPFields = [:]
        headers[.origin] = origin
        let begun = try await app.send(
            .post, "/auth/carriers/start", headers, body: #"{"client_type":"web"}"#, apiKey: nil)
        #expect(begun.status == (isOwn ? 201 : 403), "\(begun.body)")
        #expect(app.aggregator.prepared.count == (isOwn ? 1 : 0))
        let started = try await app.startCredential()
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.send(
            .post, "/auth/carriers/start/\(started.id)/confirmation", headers,
            body: #"{"client_type":"web","vp_token":{"phone":"\#(text)"}}"#, apiKey: nil)
        #expect(answer.status == (isOwn ? 200 : 403), "\(answer.body)")
        #expect(answer.headers[values: .setCookie].count == (isOwn ? 2 : 0) && answer.text("token") == nil)
        #expect(app.aggregator.processed.count == (isOwn ? 1 : 0))
    }

    @Test("A page begins nothing that it could not end: its origin must be that of the credential or of the link's end")
    func uselessPage() async throws {
        let app = try Self.app()
        let link = #","mccmnc":"\#(FakeAggregator.linkNetwork)","redirect_uri""#
        for members in ["", link + #":"com.example.app://cb""#, link + #":"https://web.example/done""#] {
            let answer = try await app.send(
                .post, "/auth/carriers/start", [.origin: "https://login.example"],
                body: #"{"client_type":"web"\#(members)}"#, apiKey: nil)
            #expect(answer.status == 400 && answer.error == "operator_unknown", "\(members): \(answer.body)")
        }
        #expect(app.aggregator.prepared.isEmpty)
        // Nor does it use up what other pages need.
        #expect(try await app.testStore.store.count([Self.allOfPages], at: app.clock.now) == nil)
    }

    @Test("A page has nobody looked up in Telco Finder", arguments: [#","phone_number":"+14155550101""#, ""])
    func pageAndFinder(_ members: String) async throws {
        let app = try NumberApp(
            credentialsOfNorthwind: true, telcoFinder: { $0.finder.findsByAddress = true })
        let body = #"{"method":"digital_credential"\#(members)"#
        func begin(_ more: String, _ origin: String?, _ key: String?) async throws -> Answer {
            var headers: HTTPFields = [:]
            headers[.origin] = origin
            return try await app.send(
                .post, "/auth/number/start", headers, body: body + more + "}", apiKey: key, from: "84.125.93.10")
        }
        let refused = try await begin(#","client_type":"web""#, "https://login.example", nil)
        #expect(refused.status == 400 && refused.error == "operator_unknown", "\(refused.body)")
        #expect(app.count(app.finder.searchURL) == 0)
        // An app has.
        #expect(try await begin("", nil, TestApp.apiKey).status == 201)
        #expect(app.count(app.finder.searchURL) == 1)
    }

    /// As many sessions of pages as there are in an hour, in one.
    private static let allOfPages = AllowanceUse(of: "credentials of pages", SharedAllowance(count: 1, seconds: 3600))

    @Test("Pages of this server together begin 12,000 sessions an hour, and other callers are not concerned")
    func allPages() async throws {
        let own = "https://login.example"
        let app = try Self.app { $0.credentialOrigins.append(own) }
        #expect(try await app.testStore.store.count([Self.allOfPages], at: app.clock.now) == nil)
        let refused = try await app.send(
            .post, "/auth/carriers/start", [.origin: own], body: #"{"client_type":"web"}"#, apiKey: nil,
            from: "85.1.1.1")
        #expect(refused.status == 429 && app.aggregator.prepared.isEmpty, "\(refused.body)")
        for (origin, key) in [(NumberApp.origin, nil), (own, TestApp.apiKey)] as [(String, String?)] {
            let answer = try await app.send(
                .post, "/auth/carriers/start", [.origin: origin], body: "{}", apiKey: key, from: "85.1.1.1")
            #expect(answer.status == 201, "\(answer.body)")
        }
    }

    @Test("The audience may be written with or without the prefix, and be an app's")
    func origins() async throws {
        let app = try Self.app()
        for origin in [FakeAggregator.origin, "origin:" + FakeAggregator.origin, FakeAggregator.androidOrigin] {
            let started = try await app.startCredential()
            let text = try app.aggregator.presentation(nonce: started.nonce, origin: origin)
            #expect(try await app.confirm(started.id, presenting: text).status == 200, "\(origin)")
        }
    }

    @Test("A number that no account has registers its user only where that is allowed, and can be added as an identity")
    func unknown() async throws {
        let app = try Self.app(registersUnknown: false)
        let refused = try await app.signInWithCredential()
        #expect(refused.status == 401 && refused.error == "request_denied", "\(refused.body)")
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startCredential()
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let link = try await app.send(
            .post, "/users/me/identities", [.authorization: "Bearer \(session)"],
            body: #"{"provider":"carriers","sign_in_id":"\#(started.id)","vp_token":{"phone":"\#(text)"}}"#)
        #expect(link.status == 201, "\(link.body)")
        let answer = try await app.signInWithCredential()
        let user = try await app.me(try #require(answer.text("token"), "\(answer.body)"))["user_id"]
        #expect(try await app.me(session)["user_id"] == user)
    }

    @Test("A number that somebody else has verified since does not sign in to the old account")
    func recycled() async throws {
        let app = try Self.app()
        #expect(try await app.signInWithCredential().status == 200)
        // Another customer has the number now, and the operator says so.
        _ = try await app.token()
        let refused = try await app.signInWithCredential()
        #expect(refused.status == 409 && refused.error == "user_already_exists", "\(refused.body)")
    }

    @Test("A verification gives the user the number, for the session that asked alone")
    func verified() async throws {
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(session, #","phone_number":"\#(FakeAggregator.number)""#)
        #expect(started.answer.text("status") == "pending")
        let body = try #require(app.aggregator.prepared.first)
        #expect(body["use_case"]?.string == "VerifyPhoneNumber")
        #expect(body["phone_number"]?.string == FakeAggregator.number)
        let path = "/users/me/phone/verifications/\(started.id)"
        #expect(try await app.send(.get, path, [.authorization: "Bearer \(session)"]).text("status") == "pending")
        app.aggregator.script {
            $0.finding = #""verified":true,"phone_number":null,"sim_swap":{"checked":true,"risk_level":"LOW"}"#
        }
        let answer = try await app.confirm(
            started.id, of: session, presenting: try app.aggregator.presentation(nonce: started.nonce))
        #expect(answer.status == 200 && answer.text("status") == "verified", "\(answer.body)")
        #expect(answer.text("operator") == "carriers" && answer.json?["sim_swapped"]?.bool == false)
        #expect(try await app.me(session)["phone_number"]?.string == FakeAggregator.number)
        let other = try await app.token()
        #expect(try await app.send(.get, path, [.authorization: "Bearer \(other)"]).status == 404)
        let again = try await app.confirm(
            started.id, of: session, presenting: try app.aggregator.presentation(nonce: started.nonce))
        #expect(again.status == 401 && again.error == "invalid_grant", "\(again.body)")
        // It has ended, so that a confirmation of a browser finds nothing to confirm.
        #expect(try await app.confirm(started.id, of: session, #"{"confirmation":"C"}"#).error == "invalid_grant")
    }

    @Test(
        "A number of somebody else verifies nothing, and the account stays as it is",
        arguments: [
            #""verified":false"#, #""verified":false,"phone_number":"\#(FakeAggregator.number)""#,
            #""verified":true,"phone_number":"+14155550102""#,
        ])
    func mismatch(_ finding: String) async throws {
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(session, #","phone_number":"\#(FakeAggregator.number)""#)
        app.aggregator.script { $0.finding = finding }
        let answer = try await app.confirm(
            started.id, of: session, presenting: try app.aggregator.presentation(nonce: started.nonce))
        #expect(answer.status == 200 && answer.text("status") == "mismatch", "\(answer.body)")
        #expect(!answer.body.contains("4155550102"), "it is nobody's business")
        try await PhoneVerificationWalk(app, token: session).expectUnchanged()
    }

    @Test("A number that the aggregator only repeats is not verified", arguments: ["", #","verified":"true""#])
    func echo(_ more: String) async throws {
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(session, #","phone_number":"\#(FakeAggregator.number)""#)
        app.aggregator.script { $0.finding += more }
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.confirm(started.id, of: session, presenting: text)
        #expect(answer.status == 502 && answer.error == "aggregator_error", "\(answer.body)")
        try await PhoneVerificationWalk(app, token: session).expectUnchanged()
    }

    @Test("A verification that the aggregator did not end has failed, unless its credential was refused here")
    func failedVerification() async throws {
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(session)
        let path = "/users/me/phone/verifications/\(started.id)"
        func status() async throws -> Answer { try await app.send(.get, path, [.authorization: "Bearer \(session)"]) }
        let other = try app.aggregator.presentation(nonce: "NONCE-of-another-session")
        #expect(try await app.confirm(started.id, of: session, presenting: other).error == "credential_invalid")
        #expect(try await status().text("status") == "pending")
        app.aggregator.script { $0.process = .json("{}", status: 500) }
        let text = try app.aggregator.presentation(nonce: started.nonce)
        #expect(try await app.confirm(started.id, of: session, presenting: text).error == "aggregator_error")
        let ended = try await status()
        #expect(ended.text("status") == "failed" && ended.error == "aggregator_error", "\(ended.body)")
    }

    @Test("A verification by redirects is not ended by a credential, nor without its confirmation")
    func byRedirects() async throws {
        let app = try Self.app()
        let walk = try await PhoneVerificationWalk(app)
        let started = try await walk.start()
        for body in ["{}", #"{"vp_token":"a~b"}"#] {
            let answer = try await app.confirm(started.id, of: walk.token, body)
            #expect(answer.status == 400 && answer.description.contains("confirmation is missing"), "\(answer.body)")
        }
    }

    @Test("A number is verified five times an hour for one user, whatever credentials it has")
    func limited() async throws {
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let members = #","phone_number":"\#(FakeAggregator.number)""#
        app.aggregator.script { $0.finding = #""verified":false"# }
        // Begun before the first one ends.
        var started: [NumberApp.CredentialStarted] = []
        for _ in 0..<6 { started.append(try await app.startVerification(session, members)) }
        var statuses: [Int] = []
        for one in started {
            let text = try app.aggregator.presentation(nonce: one.nonce)
            statuses.append(try await app.confirm(one.id, of: session, presenting: text).status)
        }
        #expect(statuses == [200, 200, 200, 200, 200, 429])
    }

    static let failures: [(change: @Sendable (inout FakeAggregator.Script) -> Void, error: String, status: Int)] = [
        ({ $0.process = .json("{}", status: 500) }, "aggregator_error", 502),
        ({ $0.process = .json(#"{"error":"session_expired"}"#, status: 400) }, "aggregator_error", 502),
        ({ $0.process = .json(#"{"error":"+14155550101"}"#, status: 400) }, "aggregator_error", 502),
        ({ $0.process = .json("[]") }, "aggregator_error", 502),
        ({ $0.finding = #""phone_number":"jane""# }, "aggregator_error", 502),
        ({ $0.finding = #""verified":true"# }, "aggregator_error", 502),
        ({ $0.finding += #","verified":false"# }, "aggregator_error", 502),
        ({ $0.finding += #","verified":"true""# }, "aggregator_error", 502),
        ({ $0.finding = "" }, "aggregator_error", 502),
        ({ $0.token = .json(#"{"error":"invalid_client"}"#, status: 401) }, "aggregator_error", 502),
    ]

    @Test("A response that the aggregator should not give is its error", arguments: failures.indices)
    func failed(_ index: Int) async throws {
        let row = Self.failures[index]
        let app = try Self.app()
        let started = try await app.startCredential()
        app.aggregator.script(row.change)
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.confirm(started.id, presenting: text)
        #expect(answer.status == row.status && answer.error == row.error, "\(answer.body)")
        #expect(!answer.body.contains("4155550101") && !app.log.text.contains("4155550101"))
        // It is spent.
        app.aggregator.script { $0 = FakeAggregator.Script() }
        #expect(try await app.confirm(started.id, presenting: text).error == "invalid_grant")
    }

    static let preparations: [@Sendable (inout FakeAggregator.Script) -> Void] = [
        { $0.change = { $0.replacing("\"nonce\":\"", with: "\"nonce\":\"x") } },
        { $0.change = { $0.replacing("dc_api", with: "dc_api.jwt") } },
        { $0.change = { $0.replacing("\"vp_token\"", with: "\"code\"") } },
        { $0.change = { $0.replacing("dcql_query", with: "query") } },
        { $0.change = { _ in "7" } },
        { $0.change = { $0.replacing("\"phone\"", with: "\"" + String(repeating: "x", count: 17_000) + "\"") } },
        { $0.prepare = .json(#"{"session_key":"S","strategy":"link","authorization_url":"https://a.example"}"#) },
        { $0.prepare = .json(#"{"request":{}}"#) }, { $0.prepare = .json("{}", status: 503) },
    ]

    @Test(
        "A request for the wallet that is not for this session, or cannot be read, is the aggregator's error",
        arguments: preparations.indices)
    func unprepared(_ index: Int) async throws {
        let app = try Self.app()
        app.aggregator.script(Self.preparations[index])
        let answer = try await app.send(.post, "/auth/carriers/start", body: #"{"method":"digital_credential"}"#)
        #expect(answer.status == 502 && answer.error == "aggregator_error", "\(answer.body)")
    }

    @Test("A SIM that was changed lately is refused if the settings say so")
    func simSwap() async throws {
        let swapped = #","sim_swap":{"checked":true,"risk_level":"HIGH"}"#
        let rows: [(policy: NumberContradiction, unknown: NumberUncertainty, sim: String, error: String?)] = [
            (.off, .refuse, swapped, nil), (.report, .refuse, swapped, nil), (.refuse, .refuse, swapped, "sim_swapped"),
            (.refuse, .refuse, "", "aggregator_error"), (.refuse, .accept, "", nil),
            (.refuse, .refuse, #","sim_swap":{"checked":true,"risk_level":"LOW"}"#, nil),
            (.refuse, .refuse, #","sim_swap":{"checked":false,"risk_level":"LOW"}"#, "aggregator_error"),
            (.refuse, .refuse, #","sim_swap":{"checked":true,"risk_level":"RISK_LEVEL_UNKNOWN"}"#, "aggregator_error"),
            (.refuse, .refuse, #","sim_swap":{"checked":true,"risk_level":"allowed"}"#, "aggregator_error"),
            (.refuse, .refuse, #","sim_swap":{"checked":true,"risk_level":""}"#, "aggregator_error"),
            (.refuse, .accept, #","sim_swap":{"checked":true,"risk_level":"RISK_LEVEL_MEDIUM"}"#, "sim_swapped"),
            (.refuse, .refuse, #","sim_swap":{"checked":true,"risk_level":"RISK_LEVEL_LOW"}"#, nil),
        ]
        for row in rows {
            let app = try Self.app { ($0.simSwap.ifSwapped, $0.simSwap.ifUnknown) = (row.policy, row.unknown) }
            app.aggregator.script { $0.finding += row.sim }
            let answer = try await app.signInWithCredential()
            #expect(answer.error == row.error, "\(row): \(answer.body)")
            #expect(app.log.text.contains("sim_swap="), "\(row)")
        }
    }

    @Test("A verification of a number whose SIM was changed lately has failed")
    func verificationOfSwappedSIM() async throws {
        let app = try Self.app { $0.simSwap.ifSwapped = .refuse }
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await app.startVerification(session, #","phone_number":"\#(FakeAggregator.number)""#)
        app.aggregator.script { $0.finding = #""verified":true,"sim_swap":{"checked":true,"risk_level":"HIGH"}"# }
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.confirm(started.id, of: session, presenting: text)
        #expect(answer.status == 200 && answer.text("status") == "failed", "\(answer.body)")
        #expect(answer.error == "sim_swapped" && answer.json?["sim_swapped"]?.bool == true)
        try await PhoneVerificationWalk(app, token: session).expectUnchanged()
    }

    @Test("The members of the aggregator's bodies have the names that are configured")
    func fields() async throws {
        let names: [(AggregatorRules.Field, String)] = [
            (.session, "session.session_key"), (.request, "data.dc"), (.phoneNumber, "result.msisdn"),
            (.mcc, "network.a"), (.mnc, "network.b"),
        ]
        let app = try Self.app { rules in for (field, path) in names { rules.fields[field] = .init(path) } }
        app.aggregator.script { script in
            script.session = { #""session":{"session_key":"KEY-7"},"data":{"dc":\#($0)}"# }
            script.finding = #""result":{"msisdn":"\#(FakeAggregator.number)"}"#
        }
        let started = try await app.startCredential(#","mccmnc":"310260""#)
        #expect(app.aggregator.prepared.first?["network"] == ["a": "310", "b": "260"])
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.confirm(started.id, presenting: text)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(app.aggregator.processed.first?["session"] == ["session_key": "KEY-7"])
        let me = try await app.me(try #require(answer.text("token")))
        #expect(me["phone_number"]?.string == FakeAggregator.number)
    }

    static let malformedBodies: [(path: String, body: String, problem: String)] = [
        ("/auth/carriers/start", #"{"method":"redirect"}"#, "method must be digital_credential"),
        ("/auth/carriers/start", #"{"strategy":"sms"}"#, "strategy must be ts43, link or desktop"),
        ("/auth/carriers/start", #"{"strategy":"desktop"}"#, "desktop is not configured"),
        ("/auth/carriers/start", #"{"mccmnc":"311480"}"#, "redirect_uri is missing"),
        ("/auth/carriers/start", #"{"mccmnc":"31"}"#, "mccmnc must be 5 or 6 digits"),
        ("/auth/carriers/start", #"{"client_id":"other"}"#, "client_id is not one"),
        ("/auth/carriers/start/X/confirmation", "{}", "vp_token is missing"),
        ("/auth/carriers/start/X/confirmation", #"{"vp_token":{}}"#, "vp_token is not one presentation"),
        ("/auth/carriers/start/X/confirmation", #"{"vp_token":{"a":"1","b":"2"}}"#, "vp_token is not one presentation"),
        ("/auth/carriers/start/X/confirmation", #"{"vp_token":{"a":["1","2"]}}"#, "vp_token is not one presentation"),
        ("/auth/carriers/start/X/confirmation", #"{"vp_token":7}"#, "vp_token is not one presentation"),
        ("/auth/carriers/start/X/confirmation", #"{"data":{"error":"denied"}}"#, "vp_token is missing"),
        (
            "/auth/carriers/start/X/confirmation", #"{"vp_token":"\#(String(repeating: "x", count: 16_385))"}"#,
            "vp_token is longer than 16384 bytes"
        ),
        ("/auth/phone/start/X/confirmation", #"{"vp_token":"a~b"}"#, "takes no digital credential"),
        ("/auth/carriers/sign-in", #"{"vp_token":"a~b"}"#, "sign_in_id is missing"),
        (
            "/users/me/phone/verifications", #"{"method":"digital_credential","provider":"number"}"#,
            "takes no digital credential"
        ),
        (
            "/users/me/phone/verifications", #"{"method":"digital_credential","phone_number":"jane"}"#,
            "phone_number must be + and 5"
        ),
    ]

    @Test("What is missing or malformed is named", arguments: malformedBodies.indices)
    func malformed(_ index: Int) async throws {
        let row = Self.malformedBodies[index]
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let answer = try await app.send(.post, row.path, [.authorization: "Bearer \(session)"], body: row.body)
        #expect(answer.status == 400 && answer.description.contains(row.problem), "\(answer.body)")
        #expect(app.aggregator.prepared.isEmpty)
    }

    @Test("A network that the aggregator does not serve is unknown")
    func networks() async throws {
        let app = try Self.app { rules in rules.networks = Set([MCCMNC("310260")].compactMap(\.self)) }
        #expect(try await app.send(.post, "/auth/carriers/start", body: #"{"mccmnc":"310260"}"#).status == 201)
        let refused = try await app.send(.post, "/auth/carriers/start", body: #"{"mccmnc":"310410"}"#)
        #expect(refused.status == 400 && refused.error == "operator_unknown", "\(refused.body)")
    }

    @Test("A caller begins only for its own clients")
    func callers() async throws {
        let app = try Self.app(keys: ["KEY-of-another": APIGrant(clients: ["latchkey"])])
        let session = try await PhoneVerificationWalk.session(app)
        for path in ["/auth/carriers/start", "/users/me/phone/verifications"] {
            let answer = try await app.send(
                .post, path, [.authorization: "Bearer \(session)"], body: #"{"method":"digital_credential"}"#,
                apiKey: "KEY-of-another")
            #expect(answer.error == "unauthorized_client", "\(path): \(answer.body)")
        }
        #expect(app.aggregator.prepared.isEmpty)
        let started = try await app.startCredential()
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.send(
            .post, "/auth/carriers/start/\(started.id)/confirmation", body: #"{"vp_token":"\#(text)"}"#,
            apiKey: "KEY-of-another")
        #expect(answer.error == "unauthorized_client" && app.aggregator.processed.isEmpty, "\(answer.body)")
    }

    @Test("Callers without an API key begin 600 sessions an hour in one network, because each costs")
    func keyless() async throws {
        let app = try Self.app()
        let start: HTTPFields = [.origin: NumberApp.origin]
        func begin(_ key: String? = nil, from peer: String = "84.125.93.10") async throws -> Answer {
            try await app.send(.post, "/auth/carriers/start", start, body: "{}", apiKey: key, from: peer)
        }
        #expect(try await begin().status == 201)
        let terms = CallerTerms(clients: nil, key: nil, address: IPAddress("84.125.93.10"))
        let ofNetwork = try #require(AllowanceUse.ofCredentials(by: terms).first)
        for _ in 1..<600 { _ = try await app.testStore.store.count([ofNetwork], at: app.clock.now) }
        for peer in ["84.125.93.10", "84.125.93.11"] {
            let refused = try await begin(from: peer)
            #expect(refused.status == 429 && refused.error == "rate_limited", "\(refused.body)")
        }
        #expect(try await begin(from: "84.126.1.1").status == 201)
        #expect(try await begin(TestApp.apiKey).status == 201)
    }

    @Test("One address without an API key begins half of its network's sessions")
    func half() async throws {
        let app = try Self.app()
        let terms = CallerTerms(
            clients: nil, key: Caller(origin: NumberApp.origin).hash, address: IPAddress("84.1.1.1"))
        let uses = AllowanceUse.ofCredentials(by: terms)
        #expect(uses.count == 2 && AllowanceUse.ofCredentials(by: CallerTerms()).count == 1)
        for _ in 0..<300 { _ = try await app.testStore.store.count(uses, at: app.clock.now) }
        let start: HTTPFields = [.origin: NumberApp.origin]
        for (peer, status) in [("84.1.1.1", 429), ("84.1.1.2", 201)] {
            let answer = try await app.send(
                .post, "/auth/carriers/start", start, body: "{}", apiKey: nil, from: peer)
            #expect(answer.status == status, "\(peer): \(answer.body)")
        }
    }

    @Test("The list of a phone's ways offers it where the phone and the caller have it")
    func methods() async throws {
        let app = try Self.app(keys: ["KEY-of-another": APIGrant(clients: ["latchkey"])])
        let credential = "digital_credential credential_manager"
        let rows: [(query: String, key: String?, expected: [String])] = [
            ("platform=android&mccmnc=310260", TestApp.apiKey, [credential]),
            ("platform=android", nil, [credential]), ("platform=web&mccmnc=310260", TestApp.apiKey, [credential]),
            ("platform=ios&mccmnc=310260", TestApp.apiKey, []),
            ("platform=ios&mccmnc=65535", TestApp.apiKey, ["digital_credential mobile_data"]),
            ("platform=ios&mccmnc=311480", TestApp.apiKey, ["digital_credential mobile_data"]),
            ("platform=android&mccmnc=310260", "KEY-of-another", []),
        ]
        for row in rows {
            let answer = try await app.send(.get, "/auth/number/methods?" + row.query, apiKey: row.key)
            let methods = (answer.json?["methods"]?.array ?? []).compactMap(\.object).filter {
                $0["provider"]?.string == "carriers"
            }
            let found = methods.map { "\($0["method"]?.string ?? "") \($0["requires"]?.string ?? "")" }
            #expect(found == row.expected, "\(row): \(answer.body)")
        }
    }
}
