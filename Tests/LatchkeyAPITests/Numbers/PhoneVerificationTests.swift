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

/// Verifications of a signed-in user's phone number, and what they must not tell or change.
@Suite("Verification of a signed-in user's number")
struct PhoneVerificationTests {
    private static let path = "/users/me/phone/verifications"

    /// Posts a verification with a new operator token; `members` are further JSON members.
    private func verify(
        _ app: NumberApp, _ token: String, _ members: String = #""phone_number":"+14155550101""#,
        operatorToken: String = RandomSource.system.token(bytes: 12)
    ) async throws -> Answer {
        try await app.send(
            .post, Self.path, [.authorization: "Bearer \(token)"],
            body: #"{"operator_token":"\#(operatorToken)","operator":"northwind",\#(members)}"#)
    }

    private func outcome(_ app: NumberApp, _ token: String, _ id: String) async throws -> Answer {
        try await app.send(.get, "\(Self.path)/\(id)", [.authorization: "Bearer \(token)"])
    }

    /// A user of southwind, whose number northwind does not know.
    private func user(_ app: NumberApp, _ subject: String = "SUBJECT-of-ann") async throws -> String {
        app.southwind.script { ($0.subject, $0.number) = (subject, "+14155550177") }
        return try await app.token(at: app.southwind)
    }

    @Test("A confirmed number becomes the user's, verified; the operator is asked once, with a token for this alone")
    func verified() async throws {
        let app = try NumberApp()
        let token = try await user(app)
        app.clock.advance(bySeconds: 60)
        let answer = try await verify(app, token)
        #expect(answer.status == 200 && answer.text("status") == "verified", "\(answer.body)")
        #expect(answer.text("phone_number") == "+14155550101")
        #expect(answer.text("operator") == "northwind")
        #expect(answer.integer("checked_at") == app.clock.now.secondsSinceEpoch)
        #expect(answer.json?["sim_swapped"]?.isNull == true)
        let me = try await app.me(token)
        #expect(me["phone_number"]?.string == "+14155550101")
        #expect(me["phone_number_verified_by"]?.string == app.northwind.issuer)
        #expect(me["phone_number_verified_at"]?.integer == app.clock.now.secondsSinceEpoch)
        #expect(app.count(app.northwind.verifyURL) == 1)
        #expect(app.count(app.northwind.tokenURL) == 1)
        #expect(app.count(app.northwind.shareURL) == 0)
        let again = try await outcome(app, token, try #require(answer.text("verification_id")))
        #expect(again.status == 200 && again.text("status") == "verified", "\(again.body)")
        #expect(!app.log.text.contains("4155550101"))
    }

    @Test("A mismatch changes nothing, and says so")
    func mismatch() async throws {
        let app = try NumberApp()
        let token = try await user(app)
        let before = try await app.me(token)
        app.northwind.script {
            $0.verify = { _ throws(OutboundError) in .json(#"{"devicePhoneNumberVerified":false}"#) }
        }
        let answer = try await verify(app, token)
        #expect(answer.status == 200 && answer.text("status") == "mismatch", "\(answer.body)")
        let after = try await app.me(token)
        #expect(after["phone_number"] == before["phone_number"])
        #expect(after["phone_number_verified"] == before["phone_number_verified"])
        #expect(try await app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).isEmpty)
    }

    @Test("Without a number, that of the profile is verified")
    func ofProfile() async throws {
        let app = try NumberApp()
        let token = try await user(app)
        #expect(try await verify(app, token, #""provider":"number""#).text("phone_number") == "+14155550177")
        let body = String(decoding: app.http.requests(to: app.northwind.verifyURL).first?.body ?? [], as: UTF8.self)
        #expect(body == #"{"phoneNumber":"+14155550177"}"#)
    }

    @Test("The outcome is for the session that asked")
    func bound() async throws {
        let app = try NumberApp()
        let token = try await user(app)
        let (other, stranger) = (try await user(app), try await user(app, "SUBJECT-of-bob"))
        let id = try #require(try await verify(app, token).text("verification_id"))
        for session in [other, stranger] { #expect(try await outcome(app, session, id).status == 404) }
        #expect(try await outcome(app, token, "unknown").status == 404)
        #expect(try await outcome(app, token, id).status == 200)
    }

    @Test("An operator token verifies one number, for one session")
    func usedTwice() async throws {
        let app = try NumberApp()
        let (token, other) = (try await user(app), try await user(app, "SUBJECT-of-bob"))
        #expect(try await verify(app, token, operatorToken: "TS43").text("status") == "verified")
        for (session, number) in [(token, "+14155550101"), (token, "+14155550102"), (other, "+14155550101")] {
            let answer = try await verify(app, session, #""phone_number":"\#(number)""#, operatorToken: "TS43")
            #expect(answer.error == "invalid_grant", "\(answer.body)")
        }
        #expect(app.count(app.northwind.verifyURL) == 1)
    }

    @Test("A user cannot try numbers out, and a number cannot be tried by many users")
    func enumeration() async throws {
        let app = try NumberApp()
        app.northwind.script {
            $0.verify = { _ throws(OutboundError) in .json(#"{"devicePhoneNumberVerified":false}"#) }
        }
        let token = try await user(app)
        for number in 0..<10 {
            let answer = try await verify(app, token, #""phone_number":"+1415555020\#(number)""#)
            #expect(answer.status == 200, "\(answer.body)")
        }
        let refused = try await verify(app, token, #""phone_number":"+14155550300""#)
        #expect(refused.status == 429 && refused.headers[.retryAfter] != nil, "\(refused.body)")
        for number in 0..<10 {
            let other = try await user(app, "SUBJECT-\(number)")
            #expect(try await verify(app, other, #""phone_number":"+14155550400""#).status == 200)
        }
        let last = try await user(app, "SUBJECT-of-the-last")
        #expect(try await verify(app, last, #""phone_number":"+14155550400""#).status == 429)
        #expect(app.count(app.northwind.verifyURL) == 20)
        // The last one has not used an allowance of their own up.
        #expect(try await verify(app, last, #""phone_number":"+14155550500""#).status == 200)
    }

    @Test("The number is no longer verified for whoever had it before")
    func reassigned() async throws {
        let app = try NumberApp()
        let former = try await app.token()
        #expect(try await app.me(former)["phone_number_verified"]?.bool == true)
        #expect(try await verify(app, try await user(app)).text("status") == "verified")
        #expect(try await app.me(former)["phone_number_verified"]?.bool == false)
    }

    @Test(
        "What the operator refuses is the outcome, and changes nothing",
        arguments: ["NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK", "sim", "token"])
    func failed(_ cause: String) async throws {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = .refuse
        let app = try NumberApp(simSwap: policy)
        let token = try await user(app)
        app.northwind.script { script in
            switch cause {
            case "sim": script.isSwapped = true
            case "token":
                script.token = { _ throws(OutboundError) in .json(#"{"error":"access_denied"}"#, status: 400) }
            default: script.verify = { _ throws(OutboundError) in FakeOperator.error(403, cause) }
            }
        }
        let answer = try await verify(app, token)
        #expect(answer.status == 200 && answer.text("status") == "failed", "\(answer.body)")
        let errors = ["sim": "sim_swapped", "token": "access_denied"]
        #expect(answer.text("error") == errors[cause] ?? "not_on_mobile_network")
        #expect(answer.json?["sim_swapped"]?.bool == (cause == "sim" ? true : nil))
        #expect(try await app.me(token)["phone_number"]?.string == "+14155550177")
    }

    @Test("Where the operator does not respond as it should, nothing is known", arguments: [500, 200])
    func unknown(_ status: Int) async throws {
        let app = try NumberApp()
        let token = try await user(app)
        app.northwind.script { $0.verify = { _ throws(OutboundError) in .json("{}", status: status) } }
        #expect(try await verify(app, token).error == "carrier_error")
    }

    @Test(
        "A request that cannot be meant is refused before the operator is asked",
        arguments: [
            #""phone_number":"14155550101""#, #""phone_number":"+1 415""#, #""phone_number":7"#,
            #""operator":"eastwind""#, #""provider":"other""#,
        ])
    func malformed(_ members: String) async throws {
        let app = try NumberApp()
        let token = try await user(app)
        let named = members.contains("operator") ? "" : #","operator":"northwind""#
        let body = "{" + members + #","operator_token":"t""# + named + "}"
        let answer = try await app.send(.post, Self.path, [.authorization: "Bearer \(token)"], body: body)
        #expect((400...404).contains(answer.status), "\(answer.body)")
        #expect(app.http.requests(to: app.northwind.issuer).isEmpty)
        #expect(try await app.send(.post, Self.path, [.authorization: "Bearer \(token)"], body: "{}").status == 400)
        #expect(try await app.send(.post, Self.path, body: body).status == 401)
    }
}
