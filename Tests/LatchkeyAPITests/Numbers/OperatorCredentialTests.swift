import Crypto
import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification

/// Sign-ins and verifications by digital credentials that a mobile operator redeems at its token endpoint.
@Suite("Digital credentials at a mobile operator")
struct OperatorCredentialTests {
    private static let start = #"{"method":"digital_credential","operator":"northwind"}"#

    private static func app(
        simSwap: SIMSwapPolicy = .init(), telcoFinder: ((inout TelcoFinderRules) -> Void)? = nil
    ) throws -> NumberApp {
        try NumberApp(simSwap: simSwap, credentialsOfNorthwind: true, telcoFinder: telcoFinder)
    }

    /// Starts a sign-in; the id, the nonce, and the whole answer.
    private static func started(_ app: NumberApp, _ body: String = start) async throws -> NumberApp.CredentialStarted {
        let answer = try await app.send(.post, "/auth/number/start", body: body)
        try #require(answer.status == 201, "\(answer.body)")
        return NumberApp.CredentialStarted(
            id: try #require(answer.text("sign_in_id")), nonce: try nonce(of: answer), answer: answer)
    }

    private static func nonce(of answer: Answer) throws -> String {
        try #require(answer.json?["request"]?.object?["data"]?.object?["nonce"]?.string)
    }

    private static func confirm(
        _ app: NumberApp, _ id: String, _ text: String, at provider: String = "number"
    ) async throws -> Answer {
        try await app.send(
            .post, "/auth/\(provider)/start/\(id)/confirmation", body: #"{"vp_token":{"phone":"\#(text)"}}"#)
    }

    private static func form(_ request: OutboundRequest) -> [String: String] {
        let items = String(decoding: request.body, as: UTF8.self).split(separator: "&").map { item in
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(pair[0]), PercentEncoding.decodeForm(pair[1].utf8) ?? "")
        }
        return Dictionary(items) { $0 + " and " + $1 }
    }

    private static func object(_ part: Substring) throws -> JSONObject {
        try #require(JSONValue(parsing: Base64URL.decode(String(part)) ?? []).object)
    }

    @Test("The request for the phone is this server's own: one query, signed with the configured key and its chain")
    func request() async throws {
        let app = try Self.app()
        let started = try await Self.started(app)
        #expect(started.answer.text("strategy") == "ts43" && started.answer.integer("expires_in") == 300)
        #expect(app.http.requests.isEmpty, "nobody is asked before there is a credential")
        let request = try #require(started.answer.json?["request"]?.object)
        #expect(request["protocol"]?.string == "openid4vp-v1-unsigned")
        let data = try #require(request["data"]?.object)
        #expect(data["response_type"]?.string == "vp_token" && data["response_mode"]?.string == "dc_api")
        let queries = try #require(data["dcql_query"]?.object?["credentials"]?.array)
        let query = try #require(queries.first?.object)
        #expect(queries.count == 1 && query["format"]?.string == "dc-authorization+sd-jwt")
        let meta = try #require(query["meta"]?.object)
        #expect(meta["vct_values"] == ["number-verification/device-phone-number/ts43"])
        let parts = try #require(meta["credential_authorization_jwt"]?.string).split(separator: ".")
        let (header, claims) = (try Self.object(parts[0]), try Self.object(parts[1]))
        #expect(header["typ"]?.string == "oauth-authz-req+jwt" && header["alg"]?.string == "ES256")
        #expect(header["x5c"] == .texts(NumberApp.credentialChain))
        #expect(claims["iss"]?.string == "latchkey" && claims["nonce"]?.string == started.nonce)
        #expect(claims["consent_data"]?.string == "Sign in to the shop")
        let key = try #require(claims["jwks"]?.object?["keys"]?.array?.first?.object)
        #expect(key["use"]?.string == "enc" && key["alg"]?.string == "ECDH-ES" && key["kid"]?.string == "operator-1")
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: Base64URL.decode(String(parts[2])) ?? [])
        let signed = SHA256.hash(data: Array("\(parts[0]).\(parts[1])".utf8))
        #expect(NumberApp.credentialKey.publicKey.isValidSignature(signature, for: signed))
        #expect(try await Self.started(app).nonce != started.nonce)
    }

    @Test("A credential signs in the operator's user, by a JWT or by CIBA, and once", arguments: [false, true])
    func signIn(byBackchannel: Bool) async throws {
        let app = try Self.app()
        if byBackchannel { app.northwind.useBackchannel() }
        let started = try await Self.started(app)
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await Self.confirm(app, started.id, text)
        #expect(answer.status == 200, "\(answer.body)")
        let me = try await app.me(try #require(answer.text("token")))
        #expect(me["phone_number"]?.string == FakeAggregator.number)
        #expect(me["phone_number_verified_by"]?.string == app.northwind.issuer)
        let url = byBackchannel ? app.northwind.backchannelURL : app.northwind.tokenURL
        let form = Self.form(try #require(app.http.requests(to: url).first))
        let hint =
            byBackchannel
            ? form["login_hint"]
            : try Self.object(try #require(form["assertion"]).split(separator: ".")[1])["sub"]?.string
        #expect(hint == "vp_token:" + text)
        #expect(app.count(app.northwind.shareURL) == 1 && !app.log.text.contains(text))
        let again = try await Self.confirm(app, started.id, text)
        #expect(again.status == 401 && again.error == "invalid_grant", "\(again.body)")
        #expect(app.count(app.northwind.shareURL) == 1)
        // The same user as by redirects.
        #expect(try await app.me(try await app.token())["user_id"] == me["user_id"])
    }

    @Test("A credential of nearly 16 kB comes to the operator whole, by a JWT or by CIBA", arguments: [false, true])
    func long(byBackchannel: Bool) async throws {
        let app = try Self.app()
        if byBackchannel { app.northwind.useBackchannel() }
        let started = try await Self.started(app)
        func presentation(padding: Int) throws -> String {
            try app.aggregator.presentation(nonce: started.nonce) {
                $0.issuerClaims["padding"] = "\"\(String(repeating: "x", count: padding))\""
            }
        }
        let room = PresentedCredential.maximumBytes - (try presentation(padding: 1).utf8.count)
        let text = try presentation(padding: room * 3 / 4 - 2)
        #expect((16_000...PresentedCredential.maximumBytes).contains(text.utf8.count))
        let answer = try await Self.confirm(app, started.id, text)
        #expect(answer.status == 200, "\(answer.body)")
        let url = byBackchannel ? app.northwind.backchannelURL : app.northwind.tokenURL
        #expect(try #require(app.http.requests(to: url).first).body.count > 16_000)
    }

    @Test(
        "A credential that is not for this request comes to no operator",
        arguments: ["nonce", "audience", "signature", "sd_hash", "issued_at"])
    func refused(_ check: String) async throws {
        let app = try Self.app()
        let started = try await Self.started(app)
        let origin = check == "audience" ? "https://evil.example" : FakeAggregator.origin
        let text = try app.aggregator.presentation(nonce: started.nonce, origin: origin) { deviation in
            switch check {
            case "nonce": deviation.claims["nonce"] = #""NONCE-of-another""#
            case "signature": deviation.signer = TestSigningKey(keyID: "wallet-1")
            case "sd_hash": deviation.claims["sd_hash"] = #""AAAA""#
            case "issued_at": deviation.claims["iat"] = "1700000000"
            default: break
            }
        }
        let answer = try await Self.confirm(app, started.id, text)
        #expect(answer.status == 401 && answer.error == "credential_invalid", "\(answer.body)")
        #expect(answer.description.contains("(\(check))"))
        #expect(app.count(app.northwind.tokenURL) == 0)
        let right = try app.aggregator.presentation(nonce: started.nonce)
        #expect(try await Self.confirm(app, started.id, right).status == 200)
    }

    @Test("A session is good at its own provider and operator alone")
    func otherProvider() async throws {
        var rules = NumberSignInRules()
        rules.registersUnknown = true
        let app = try NumberApp(credentialRules: rules, aggregator: { _ in }, credentialsOfNorthwind: true)
        let started = try await Self.started(app)
        let text = try app.aggregator.presentation(nonce: started.nonce)
        #expect(try await Self.confirm(app, started.id, text, at: "carriers").error == "invalid_grant")
        let other = try await app.startCredential()
        let own = try app.aggregator.presentation(nonce: other.nonce)
        #expect(try await Self.confirm(app, other.id, own).error == "invalid_grant")
        #expect(app.aggregator.processed.isEmpty && app.count(app.northwind.tokenURL) == 0)
        #expect(try await Self.confirm(app, started.id, text).status == 200)
    }

    @Test(
        "The operator is chosen as at other starts, and one that redeems no credentials says so",
        arguments: [
            (#""mccmnc":"310010""#, 201, String?.none), (#""operator":"northwind""#, 201, nil),
            (#""operator":"southwind""#, 400, "operator_unknown"), (#""mccmnc":"310030""#, 400, "operator_unknown"),
            (#""operator":"northwind","strategy":"desktop""#, 400, "invalid_request"),
            (#""operator":"northwind","strategy":"link""#, 400, "operator_unknown"),
            (#""operator":"northwind","client_id":"another""#, 400, "invalid_request"),
        ] as [(String, Int, String?)])
    func choice(_ members: String, _ status: Int, _ error: String?) async throws {
        let app = try Self.app()
        let answer = try await app.send(
            .post, "/auth/number/start", body: #"{"method":"digital_credential",\#(members)}"#)
        #expect(answer.status == status && answer.error == error, "\(answer.body)")
        #expect(app.http.requests.isEmpty)
    }

    @Test("Without the method, a start is as before, and without the settings the method is refused")
    func others() async throws {
        let app = try Self.app()
        let body = #"{"client_type":"ios","redirect_uri":"com.example.app://cb","operator":"northwind"}"#
        let answer = try await app.send(.post, "/auth/number/start", body: body)
        #expect(answer.status == 200 && answer.text("location") != nil, "\(answer.body)")
        let token = try await app.signIn()
        #expect(token.status == 200, "\(token.body)")
        let without = try await NumberApp().send(.post, "/auth/number/start", body: Self.start)
        #expect(without.status == 400 && without.error == "operator_unknown", "\(without.body)")
    }

    @Test("What the operator refuses or does not tell ends the session, with the error of other ways")
    func operatorRefuses() async throws {
        let refusals: [(code: String, error: String)] = [
            ("login_required", "not_on_mobile_network"), ("invalid_grant", "invalid_grant"),
            ("invalid_client", "carrier_error"),
        ]
        for row in refusals {
            let app = try Self.app()
            let started = try await Self.started(app)
            app.northwind.script {
                $0.token = { _ throws(OutboundError) in .json(#"{"error":"\#(row.code)"}"#, status: 400) }
            }
            let text = try app.aggregator.presentation(nonce: started.nonce)
            #expect(try await Self.confirm(app, started.id, text).error == row.error, "\(row)")
            app.northwind.script { $0.token = nil }
            #expect(try await Self.confirm(app, started.id, text).error == "invalid_grant", "\(row): it is spent")
        }
    }

    @Test("The SIM is checked by the operator's rules")
    func simSwap() async throws {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = .refuse
        let app = try Self.app(simSwap: policy)
        app.northwind.script { $0.isSwapped = true }
        let started = try await Self.started(app)
        let answer = try await Self.confirm(
            app, started.id, try app.aggregator.presentation(nonce: started.nonce))
        #expect(answer.status == 403 && answer.error == "sim_swapped", "\(answer.body)")
    }

    @Test("The number that an operator reports is looked up in Telco Finder, as after a redirect")
    func otherOperator() async throws {
        let app = try Self.app(telcoFinder: { _ in })
        let started = try await Self.started(app)
        app.finder.script { $0.owner = "southwind" }
        let answer = try await Self.confirm(
            app, started.id, try app.aggregator.presentation(nonce: started.nonce))
        #expect(answer.status == 502 && answer.error == "carrier_error", "\(answer.body)")
    }

    @Test("A verification compares the number that was asked for, and its outcome is for the session that asked")
    func verification() async throws {
        let rows: [(verify: String, status: String)] = [
            (#"{"devicePhoneNumberVerified":true}"#, "verified"), (#"{"devicePhoneNumberVerified":false}"#, "mismatch"),
        ]
        for row in rows {
            let app = try Self.app()
            app.northwind.script { $0.verify = { _ throws(OutboundError) in .json(row.verify) } }
            let session = try await PhoneVerificationWalk.session(app)
            let walk = PhoneVerificationWalk(app, token: session)
            let answer = try await walk.post(
                #""method":"digital_credential","phone_number":"\#(FakeAggregator.number)","operator":"northwind""#)
            #expect(answer.status == 201 && answer.text("status") == "pending", "\(answer.body)")
            let id = try #require(answer.text("verification_id"))
            let queries = answer.json?["request"]?.object?["data"]?.object?["dcql_query"]?.object?["credentials"]?.array
            #expect(
                queries?.first?.object?["meta"]?.object?["vct_values"] == ["number-verification/verify/ts43"])
            let text = try app.aggregator.presentation(nonce: try Self.nonce(of: answer))
            let other = try await app.token(at: app.southwind)
            #expect(try await app.confirm(id, of: other, presenting: text).status == 404)
            let ended = try await app.confirm(id, of: session, presenting: text)
            #expect(ended.status == 200 && ended.text("status") == row.status, "\(ended.body)")
            #expect(ended.text("operator") == "northwind" && app.count(app.northwind.verifyURL) == 1)
            #expect(app.count(app.northwind.shareURL) == 0)
            if row.status == "mismatch" { try await walk.expectUnchanged() }
            #expect(try await app.confirm(id, of: session, presenting: text).error == "invalid_grant")
        }
    }

    @Test("An identity is added with a credential of the operator")
    func link() async throws {
        let app = try Self.app()
        let session = try await PhoneVerificationWalk.session(app)
        let started = try await Self.started(app)
        let text = try app.aggregator.presentation(nonce: started.nonce)
        let answer = try await app.send(
            .post, "/users/me/identities", [.authorization: "Bearer \(session)"],
            body: #"{"provider":"number","sign_in_id":"\#(started.id)","vp_token":{"phone":"\#(text)"}}"#)
        #expect(answer.status == 201, "\(answer.body)")
        #expect(try await app.me(try await app.token())["user_id"] == app.me(session)["user_id"])
    }

    @Test(
        "The list of a phone's ways begins with it, where there is a wallet",
        arguments: [
            ("platform=android&mccmnc=310010", true), ("platform=web&mccmnc=310010", true),
            ("platform=ios&mccmnc=310010", false), ("platform=android&mccmnc=310020", false),
        ])
    func methods(_ query: String, _ isOffered: Bool) async throws {
        let app = try Self.app()
        let answer = try await app.send(.get, "/auth/number/methods?" + query)
        let methods = try #require(answer.json?["methods"]?.array, "\(answer.body)").compactMap(\.object)
        #expect((methods.first?["method"]?.string == "digital_credential") == isOffered, "\(answer.body)")
        guard isOffered else { return }
        #expect(methods.first?["operator"]?.string == "northwind" && methods.first?["provider"]?.string == "number")
        #expect(methods.first?["requires"]?.string == "credential_manager")
    }
}
