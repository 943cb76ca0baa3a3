import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification
@testable import Redirects

/// Verifications of a signed-in user's number by redirects: what is asked, and what comes of the answers.
@Suite("Verification of a signed-in user's number, by redirects")
struct PhoneVerificationRedirectTests {
    private static let refuse: SIMSwapPolicy = {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = .refuse
        return policy
    }()

    @Test("The operator is asked without a page, with PKCE, for one purpose and for the comparison only")
    func request() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let started = try await walk.start(
            #""phone_number":"+14155550101","mccmnc":"310012","correlation_id":"corr-9""#)
        #expect(started.answer.text("status") == "pending")
        #expect(started.answer.integer("expires_in") == 3600)
        #expect(started.answer.text("correlation_id") == "corr-9")
        let asked = started.authorization
        #expect(asked.location.hasPrefix(walk.app.northwind.issuer + "/authorize?"))
        #expect(asked.parameters["prompt"] == "none")
        #expect(asked.parameters["scope"] == "openid \(NumberApp.purpose) number-verification:verify")
        #expect(asked.parameters["code_challenge_method"] == "S256")
        #expect(asked.parameters["redirect_uri"] == "https://login.example/base/auth/number/callback")
        let other = try await walk.start().authorization
        for name in ["state", "nonce", "code_challenge"] {
            #expect(asked.parameters[name] != nil && asked.parameters[name] != other.parameters[name], "\(name)")
        }
        #expect(!asked.location.contains("4155550101"))
    }

    @Test("The number becomes the user's by the confirmation, and the operator is asked once, with one token")
    func verified() async throws {
        let app = try NumberApp(simSwap: Self.refuse)
        let walk = try await PhoneVerificationWalk(app)
        let simChecks = app.count(app.northwind.swapURL)
        let started = try await walk.start()
        #expect(try await walk.show(started.id).text("status") == "pending")
        let back = try await walk.open(started)
        #expect(back["action"] == "verify_phone" && back["status"] == "pending", "\(back)")
        #expect(back["verification_id"] == started.id)
        #expect(Set(back.keys) == ["action", "status", "verification_id", "confirmation"])
        let confirmation = try #require(back["confirmation"])
        #expect(Base64URL.decode(confirmation)?.count == 32)
        app.clock.advance(bySeconds: 60)
        let answer = try await walk.confirm(started.id, confirmation)
        #expect(answer.status == 200 && answer.text("status") == "verified", "\(answer.body)")
        #expect(answer.text("phone_number") == "+14155550101" && answer.text("operator") == "northwind")
        #expect(answer.json?["sim_swapped"]?.bool == false)
        #expect(answer.integer("checked_at") == app.clock.now.secondsSinceEpoch - 60)
        let me = try await app.me(walk.token)
        #expect(me["phone_number"]?.string == "+14155550101")
        #expect(me["phone_number_verified_by"]?.string == app.northwind.issuer)
        #expect(try await walk.show(started.id).text("status") == "verified")
        #expect(app.count(app.northwind.verifyURL) == 1 && app.count(app.northwind.shareURL) == 0)
        #expect(app.count(app.northwind.tokenURL) == 2, "one for the number, one for the SIM")
        #expect(app.count(app.northwind.swapURL) == simChecks + 1)
        let events = try await app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified))
        #expect(events.count == 1)
        #expect(!app.log.text.contains("4155550101") && !app.log.text.contains(confirmation))
    }

    @Test("Without a number, also in the profile, the operator tells it, and only the confirmation shows it")
    func told() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let edited = try await walk.app.send(
            .patch, "/users/me", [.authorization: "Bearer \(walk.token)", .contentType: "application/json"],
            body: #"{"phone_number":null}"#)
        #expect(edited.status == 200, "\(edited.body)")
        let started = try await walk.start(#""operator":"northwind""#)
        #expect(
            started.authorization.parameters["scope"]
                == "openid \(NumberApp.purpose) number-verification:device-phone-number:read")
        let confirmation = try #require(try await walk.open(started)["confirmation"])
        let pending = try await walk.show(started.id)
        #expect(pending.text("status") == "pending" && pending.json?["phone_number"]?.isNull == true, "\(pending.body)")
        let answer = try await walk.confirm(started.id, confirmation)
        #expect(answer.text("status") == "verified" && answer.text("phone_number") == "+14155550101")
        #expect(try await walk.app.me(walk.token)["phone_number"]?.string == "+14155550101")
        #expect(walk.app.count(walk.app.northwind.shareURL) == 1 && walk.app.count(walk.app.northwind.verifyURL) == 0)
    }

    @Test("A number that the operator told is shown to nobody without the confirmation, also when it is too late")
    func toldTooLate() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        _ = try await walk.app.send(
            .patch, "/users/me", [.authorization: "Bearer \(walk.token)", .contentType: "application/json"],
            body: #"{"phone_number":null}"#)
        let started = try await walk.start(#""operator":"northwind""#)
        _ = try await walk.open(started)
        for wrong in 0..<3 { _ = try await walk.confirm(started.id, "GUESS-\(wrong)") }
        let failed = try await walk.show(started.id)
        #expect(failed.text("status") == "failed" && failed.json?["phone_number"]?.isNull == true, "\(failed.body)")
        let second = try await walk.start(#""operator":"northwind""#)
        _ = try await walk.open(second)
        walk.app.clock.advance(bySeconds: 700)
        let expired = try await walk.show(second.id)
        #expect(expired.text("error") == "expired_token" && expired.json?["phone_number"]?.isNull == true)
    }

    @Test("An operator that takes hashes gets the SHA-256 only")
    func hashed() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp(takesHashes: true))
        let (id, confirmation) = try await walk.open()
        #expect(try await walk.confirm(id, confirmation).text("status") == "verified")
        let request = try #require(walk.app.http.requests(to: walk.app.northwind.verifyURL).first)
        let body = String(decoding: request.body, as: UTF8.self)
        #expect(body.hasPrefix(#"{"hashedPhoneNumber":""#) && !body.contains("4155550101"))
    }

    /// What keeps an operator from confirming the number, and what the outcome is then.
    struct Cause: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: String
        let error: String?
        var script: @Sendable (inout FakeOperator.Script) -> Void = { _ in }
        /// The error of the authorization response.
        var response: String?
        var verifyCalls = 1
    }

    private static let causes = [
        Cause(testDescription: "another number", status: "mismatch", error: nil) {
            $0.verify = { _ throws(OutboundError) in .json(#"{"devicePhoneNumberVerified":false}"#) }
        },
        Cause(testDescription: "a changed SIM", status: "failed", error: "sim_swapped") { $0.isSwapped = true },
        Cause(
            testDescription: "Wi-Fi", status: "failed", error: "not_on_mobile_network", response: "login_required",
            verifyCalls: 0),
        Cause(
            testDescription: "no consent", status: "failed", error: "consent_required", response: "consent_required",
            verifyCalls: 0),
        Cause(testDescription: "a refused code", status: "failed", error: "invalid_grant") {
            $0.token = { _ throws(OutboundError) in .json(#"{"error":"invalid_grant"}"#, status: 400) }
        }.without(calls: 0),
        Cause(testDescription: "another authentication", status: "failed", error: "not_on_mobile_network") {
            $0.verify = { _ throws(OutboundError) in
                FakeOperator.error(403, "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK")
            }
        },
        Cause(testDescription: "no answer", status: "failed", error: "carrier_error") {
            $0.verify = { _ throws(OutboundError) in .json("{}", status: 500) }
        },
        Cause(testDescription: "another's ID token", status: "failed", error: "invalid_id_token") {
            $0.claims = ["nonce": "\"another\""]
        }.without(calls: 0),
    ]

    @Test("What the operator refuses is the outcome, after the confirmation, and changes nothing", arguments: causes)
    func failed(_ cause: Cause) async throws {
        let walk = try await PhoneVerificationWalk(NumberApp(simSwap: Self.refuse))
        let started = try await walk.start()
        walk.app.northwind.script(cause.script)
        let back: [String: String]
        if let response = cause.response {
            let state = try #require(started.authorization.parameters["state"])
            back = try await walk.app.finish("state=\(state)&error=\(response)")
        } else {
            back = try await walk.open(started)
        }
        #expect(back["status"] == "pending", "the address tells nothing: \(back)")
        #expect(try await walk.show(started.id).text("status") == "pending")
        let answer = try await walk.confirm(started.id, try #require(back["confirmation"]))
        #expect(answer.status == 200 && answer.text("status") == cause.status, "\(answer.body)")
        #expect(answer.text("error") == cause.error)
        #expect(answer.json?["sim_swapped"]?.bool == (cause.error == "sim_swapped" ? true : nil))
        #expect(walk.app.count(walk.app.northwind.verifyURL) == cause.verifyCalls)
        #expect(try await walk.show(started.id).text("status") == cause.status)
        try await walk.expectUnchanged()
        #expect(try await walk.app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).isEmpty)
    }

    @Test("The answer about a SIM is for one verification: the next one asks again")
    func simAgain() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp(simSwap: Self.refuse))
        let first = try await walk.open()
        let simChecks = walk.app.count(walk.app.northwind.swapURL)
        walk.app.northwind.script { $0.isSwapped = true }
        let second = try await walk.open()
        #expect(walk.app.count(walk.app.northwind.swapURL) == simChecks + 1)
        #expect(try await walk.confirm(second.id, second.confirmation).text("error") == "sim_swapped")
        try await walk.expectUnchanged()
        #expect(try await walk.confirm(first.id, first.confirmation).text("status") == "verified")
        walk.app.northwind.script { $0.isSwapped = false }
        let third = try await walk.open()
        #expect(try await walk.confirm(third.id, third.confirmation).json?["sim_swapped"]?.bool == false)
    }

    @Test(
        "A request that cannot be meant is refused before the operator is asked",
        arguments: [
            #""operator":"northwind""#, #""operator":"northwind","redirect_uri":"https://evil.example/cb""#,
            #""operator":"northwind","redirect_uri":"com.example.app://cb2""#,
            #""operator":"northwind","redirect_uri":7"#, #""redirect_uri":"com.example.app://cb""#,
            #""operator":"eastwind","redirect_uri":"com.example.app://cb""#,
            #""operator":"northwind","redirect_uri":"com.example.app://cb","phone_number":"0415""#,
        ])
    func malformed(_ members: String) async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let answer = try await walk.post(members)
        #expect(answer.status == 400, "\(answer.body)")
        #expect(walk.app.http.requests(to: walk.app.northwind.issuer).isEmpty)
        let id = "\(PhoneVerificationWalk.path)/ID/confirmation"
        let headers: HTTPFields = [.authorization: "Bearer \(walk.token)"]
        #expect(try await walk.app.send(.post, id, headers, body: "{}").status == 400)
        #expect(try await walk.app.send(.post, id, headers, body: #"{"confirmation":"c"}"#).status == 404)
        #expect(try await walk.app.send(.post, id, body: #"{"confirmation":"c"}"#).status == 401)
    }

    @Test("A redirect URI that is not registered is called what the app called it")
    func sentName() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let answer = try await walk.post(#""operator":"northwind","redirectURI":"https://evil.example/cb""#)
        #expect(answer.status == 400 && answer.description.hasPrefix("redirectURI is not one of"), "\(answer.body)")
    }

    @Test("An operator that cannot be used is told at once, and no browser is sent away")
    func unreachable() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        walk.app.northwind.script { $0.metadata = ["issuer": "\"https://other.example\""] }
        let answer = try await walk.post(
            #""redirect_uri":"com.example.app://cb","phone_number":"+14155550101","operator":"northwind""#)
        #expect(answer.status == 502 && answer.error == "carrier_error", "\(answer.body)")
        #expect(walk.app.redirectSignIn.pendingStarts.count == 0)
    }
}

extension PhoneVerificationRedirectTests.Cause {
    /// With another number of comparisons.
    fileprivate func without(calls: Int) -> Self {
        var copy = self
        copy.verifyCalls = calls
        return copy
    }
}
