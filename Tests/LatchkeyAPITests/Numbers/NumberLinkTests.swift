import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

/// Numbers that become further ways to sign in, and the calls that providers of numbers do not have.
@Suite("A number as a further way to sign in")
struct NumberLinkTests {
    private func link(
        _ app: NumberApp, _ token: String, _ members: String = #""operator_token":"TS43","operator":"northwind""#
    ) async throws -> Answer {
        try await app.send(
            .post, "/users/me/identities", [.authorization: "Bearer \(token)"],
            body: #"{"provider":"number",\#(members)}"#)
    }

    @Test("An operator token adds the identity, which signs in the same user", arguments: [true, false])
    func linked(_ isByBackchannel: Bool) async throws {
        let app = try NumberApp()
        if isByBackchannel {
            app.northwind.useBackchannel()
            app.northwind.script { $0.polls = ["authorization_pending"] }
        }
        let token = try await PhoneVerificationWalk.session(app)
        let user = try await app.me(token)["user_id"]
        let answer = try await link(app, token)
        #expect(answer.status == 201 && answer.text("issuer") == app.northwind.issuer, "\(answer.body)")
        #expect(try await link(app, token, #""operator_token":"T2","mccmnc":"310010""#).status == 200, "known by now")
        let other = try await app.signIn(#""operator_token":"T3","operator":"northwind""#)
        #expect(try await app.me(try #require(other.text("token")))["user_id"] == user)
        #expect(app.count(app.northwind.shareURL) == 3)
        let used = try await link(app, token)
        #expect(used.status == 401 && used.error == "invalid_grant", "\(used.body)")
        let signIn = try await app.signIn(#""operator_token":"TS43","operator":"northwind""#)
        #expect(signIn.error == "invalid_grant", "the token is used, also for a sign-in")
        #expect(!app.log.text.contains("TS43") && !app.log.text.contains("4155550101"))
    }

    @Test("The identity of another user is refused, and so is a SIM that was changed")
    func refused() async throws {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = .refuse
        let app = try NumberApp(simSwap: policy)
        _ = try await app.token()
        let token = try await PhoneVerificationWalk.session(app)
        let taken = try await link(app, token)
        #expect(taken.status == 409 && taken.error == "user_already_exists", "\(taken.body)")
        app.northwind.script { ($0.subject, $0.isSwapped) = ("SUBJECT-of-nobody", true) }
        #expect(try await link(app, token, #""operator_token":"T2","operator":"northwind""#).error == "sim_swapped")
    }

    @Test("Telco Finder finds the operator by the number, but not for a session that is too old")
    func finder() async throws {
        let app = try NumberApp(telcoFinder: { $0.ifOtherOperator = .off })
        let token = try await PhoneVerificationWalk.session(app)
        let members = #""operator_token":"TS43","phone_number":"+14155550101""#
        app.clock.advance(bySeconds: 901)
        let old = try await link(app, token, members)
        #expect(old.status == 401 && old.error == "insufficient_user_authentication", "\(old.body)")
        #expect(app.count(app.finder.searchURL) == 0)
        let new = try await PhoneVerificationWalk.session(app)
        #expect(try await link(app, new, members).status == 201)
        #expect(app.count(app.finder.searchURL) == 1)
    }

    @Test(
        "Without an operator token, the error says what is needed",
        arguments: [
            #""operator":"northwind""#, #""operator":"northwind","code":"c","code_verifier":"\#(NumberApp.verifier)""#,
        ])
    func missing(_ members: String) async throws {
        let app = try NumberApp()
        let answer = try await link(app, try await PhoneVerificationWalk.session(app), members)
        #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
        #expect(answer.description.contains("operator_token is missing"))
        #expect(app.count(app.northwind.tokenURL) == 0)
    }

    @Test(
        "A call that these providers do not have says so, and what to call instead",
        arguments: [
            ("/auth/number/attempts", "operator_token"), ("/auth/number/authorize", "/users/me/phone/verifications"),
            ("/auth/number/backchannel", "operator_token"),
            ("/auth/number/initiate-login?iss=https%3A%2F%2Fa.example", "start"),
            ("/auth/number/resources/zak", "oidc and oauth2"), ("/auth/number/logout", "DELETE /auth/token"),
        ])
    func otherCalls(_ path: String, _ instead: String) async throws {
        let app = try NumberApp()
        let headers: HTTPFields = [
            .authorization: "Bearer \(try await PhoneVerificationWalk.session(app))", .accept: "application/json",
        ]
        let method: HTTPRequest.Method = path.contains("?") || path.contains("/resources/") ? .get : .post
        let body = #"{"post_logout_redirect_uri":"https://a.example"}"#
        let answer = try await app.send(method, path, headers, body: body)
        #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
        #expect(answer.description.contains("kind camara") && answer.description.contains(instead), "\(answer.body)")
        let unknown = path.replacing("number", with: "nobody")
        #expect(try await app.send(method, unknown, headers, body: body).status == 404)
    }
}
