import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@testable import PhoneVerification

/// What an operator, or an app with somebody else's operator token, must not achieve.
@Suite("Attacks on sign-ins by phone number")
struct NumberAttackTests {
    private static let verifications = "/users/me/phone/verifications"

    // MARK: Sign in as somebody else

    /// The attacker owns southwind. It sends the victim's browser on to northwind, with the authorization request of a
    /// sign-in that the attacker began there, and the victim's `state` (RFC 9700 section 4.4).
    @Test("A code that a mix-up brought to one operator works in no sign-in at another")
    func mixUp() async throws {
        let app = try NumberApp()
        let attackers = try await app.start("operator=northwind")
        let victims = try await app.start("operator=southwind")
        let code = app.northwind.authorize(nonce: try #require(attackers.parameters["nonce"]))
        #expect(try await app.finish(victims, code: code)["error"] == "invalid_grant")
        // Southwind has the code now.
        #expect(app.count(app.southwind.tokenURL) == 1)
        #expect(try await app.finish(attackers, code: code)["error"] == "invalid_grant")
        #expect(app.count(app.northwind.tokenURL) == 0)
    }

    @Test("No subject of an ID token is taken for a number", arguments: ["tel:", "TEL:", "", "number "])
    func subjectLikeNumber(_ prefix: String) async throws {
        let app = try NumberApp()
        app.northwind.script { $0.subject = nil }
        let owner = try await app.me(try await app.token())
        app.northwind.script { ($0.subject, $0.number) = (prefix + "+14155550101", "+14155550102") }
        let outcome = try await app.outcome()
        guard outcome["error"] == nil else { return #expect(outcome["error"] == "invalid_id_token") }
        #expect(try await app.me(try await app.token())["user_id"] != owner["user_id"])
    }

    @Test(
        "A number in another form is none",
        arguments: ["+\u{301}14155550101", "+\u{FF11}4155550101", "+1 4155550101"])
    func numberInAnotherForm(_ number: String) async throws {
        let app = try NumberApp()
        app.northwind.script { $0.number = number }
        #expect(try await app.outcome()["error"] == "carrier_error")
    }

    // MARK: Use an operator token again

    @Test("An operator token signs in once, also after the time of retries, and where the operator takes it again")
    func operatorTokenAgain() async throws {
        let app = try NumberApp()
        #expect(try await app.signIn().status == 200)
        app.clock.advance(bySeconds: 120)
        let again = try await app.signIn()
        #expect(again.error == "invalid_grant", "\(again.body)")
        #expect(app.count(app.northwind.tokenURL) == 2)
    }

    @Test("An operator token that signed nobody in is used, too", arguments: ["SIM swapped", "no number", "newcomer"])
    func operatorTokenOfFailure(_ reason: String) async throws {
        var (policy, rules) = (SIMSwapPolicy(), TestRegistration())
        policy.ifSwapped = .refuse
        rules.isRequired = reason == "newcomer"
        rules.requiredAttributes = []
        let app = try NumberApp(simSwap: policy, registration: rules)
        app.northwind.script {
            $0.isSwapped = reason == "SIM swapped"
            if reason == "no number" { $0.share = { _ throws(OutboundError) in .json("{}") } }
        }
        let first = try await app.signIn()
        #expect(first.text("token") == nil && first.error != "invalid_grant", "\(first.body)")
        app.northwind.script {
            $0.isSwapped = false
            $0.share = nil
        }
        app.clock.advance(bySeconds: 120)
        let again = try await app.signIn()
        #expect(again.text("error_description")?.hasPrefix("operator_token was used before") == true, "\(again.body)")
    }

    @Test("An operator token of a sign-in verifies no number, and the other way round")
    func operatorTokenElsewhere() async throws {
        let app = try NumberApp()
        let first = try await app.signIn(#""operator_token":"T1","operator":"northwind""#)
        let session: HTTPFields = [.authorization: "Bearer \(try #require(first.text("token")))"]
        let members = #""operator":"northwind","phone_number":"+14155550101""#
        let verification = try await app.send(
            .post, Self.verifications, session, body: #"{"operator_token":"T1",\#(members)}"#)
        #expect(verification.error == "invalid_grant", "\(verification.body)")
        #expect(app.count(app.northwind.verifyURL) == 0)
        let other = try await app.send(
            .post, Self.verifications, session, body: #"{"operator_token":"T2",\#(members)}"#)
        #expect(other.text("status") == "verified", "\(other.body)")
        let signIn = try await app.signIn(#""operator_token":"T2","operator":"northwind""#)
        #expect(signIn.error == "invalid_grant", "\(signIn.body)")
    }

    // MARK: Keep a number that is another's

    @Test("A registration that waits loses its number to whom the network proves it for meanwhile")
    func waitingRegistration() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        rules.requiredAttributes = []
        let app = try NumberApp(registration: rules)
        let former = try #require(try await app.outcome()["state_key"])
        app.northwind.script { $0.subject = "SUBJECT-of-joe" }
        let present = try #require(try await app.outcome()["state_key"])
        for (key, isVerified) in [(present, true), (former, false)] {
            let answer = try await app.send(.post, "/users", body: #"{"state_key":"\#(key)"}"#)
            let me = try await app.me(try #require(answer.text("token"), "\(answer.body)"))
            #expect(me["phone_number"]?.string == "+14155550101")
            #expect(me["phone_number_verified"]?.bool == isVerified)
        }
    }

    // MARK: Stop the service

    @Test("An operator that responds late to each poll holds a sign-in for no longer than it may take")
    func latePolls() async throws {
        let app = try NumberApp()
        let clock = app.clock
        app.northwind.script { script in
            script.metadata["backchannel_authentication_endpoint"] = "\"\(app.northwind.backchannelURL)\""
            script.metadata["backchannel_token_delivery_modes_supported"] = "[\"poll\"]"
            script.metadata["grant_types_supported"] = "[\"urn:openid:params:grant-type:ciba\"]"
            script.token = { _ throws(OutboundError) in
                clock.advance(bySeconds: 9)
                return .json(#"{"error":"authorization_pending"}"#, status: 400)
            }
        }
        #expect(try await app.signIn().error == "carrier_timeout")
        #expect(app.count(app.northwind.tokenURL) <= 3)
    }

    @Test("An operator that keeps each token pending collects a limited number of sign-ins, and keeps no other waiting")
    func manyPolls() async throws {
        let gate = Gate()
        let pause = PollPauses(limit: 2) { _ in
            await gate.pass()
            return true
        }
        let app = try NumberApp(pause: pause)
        for fake in [app.northwind, app.southwind] {
            fake.script { script in
                script.metadata["backchannel_authentication_endpoint"] = "\"\(fake.backchannelURL)\""
                script.metadata["backchannel_token_delivery_modes_supported"] = "[\"poll\"]"
                script.metadata["grant_types_supported"] = "[\"urn:openid:params:grant-type:ciba\"]"
                script.polls = ["authorization_pending", "authorization_pending", "authorization_pending"]
            }
        }
        async let first = app.signIn(#""operator_token":"T1","operator":"northwind""#)
        async let second = app.signIn(#""operator_token":"T2","operator":"northwind""#)
        defer { gate.open() }
        await gate.untilWaiting(2)
        #expect(
            try await app.signIn(#""operator_token":"T3","operator":"northwind""#).error == "carrier_timeout")
        async let other = app.signIn(#""operator_token":"T4","operator":"southwind""#)
        await gate.untilWaiting(3)
        gate.open()
        for answer in try await [first, second, other] { #expect(answer.status == 200, "\(answer.body)") }
    }

    @Test("An operator sends apps away for an hour at most", arguments: ["9223372036854775807", "86400"])
    func retryAfter(_ seconds: String) async throws {
        let app = try NumberApp()
        app.northwind.script { script in
            script.share = { _ throws(OutboundError) in
                var response = FakeOperator.error(429, "QUOTA_EXCEEDED")
                response.retryAfter = seconds
                return response
            }
        }
        let answer = try await app.signIn()
        #expect(answer.error == "temporarily_unavailable", "\(answer.body)")
        #expect(answer.headers[.retryAfter] == "3600")
    }
}
