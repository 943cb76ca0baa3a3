import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification
@testable import Redirects

/// What somebody can try who wants a verified number that is not theirs, or the number of somebody else.
@Suite("Verification of a signed-in user's number: attacks")
struct PhoneVerificationAttackTests {
    @Test("A victim who opens the attacker's address gives the attacker nothing")
    func victimOpensAddress() async throws {
        let attacker = try await PhoneVerificationWalk(NumberApp(), subject: "SUBJECT-of-mallory")
        let app = attacker.app
        let victim = try await app.token()
        let before = try await app.me(victim)
        // The victim's operator confirms the victim's number. The victim's app gets the confirmation.
        let (id, confirmation) = try await attacker.open()
        #expect(app.count(app.northwind.verifyURL) == 1)
        let refused = try await attacker.confirm(id, confirmation, in: victim)
        #expect(refused.status == 404 && refused.error == "not_found", "\(refused.body)")
        #expect(try await attacker.show(id, in: victim).status == 404)
        #expect(try await attacker.show(id).text("status") == "pending")
        try await attacker.expectUnchanged()
        let after = try await app.me(victim)
        #expect(after["phone_number"] == before["phone_number"])
        #expect(after["phone_number_verified"]?.bool == true)
        #expect(try await app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).isEmpty)
    }

    @Test("Another session of the same user cannot confirm or read it, and does not use it up")
    func otherSession() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let other = try await PhoneVerificationWalk.session(walk.app)
        let (id, confirmation) = try await walk.open()
        for _ in 0..<4 { #expect(try await walk.confirm(id, confirmation, in: other).status == 404) }
        #expect(try await walk.show(id, in: other).status == 404)
        try await walk.expectUnchanged()
        #expect(try await walk.confirm(id, confirmation).text("status") == "verified")
    }

    @Test("A refreshed session is the same session")
    func refreshed() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let sessions = try await walk.app.outcome(at: walk.app.southwind)
        let handle = try #require(sessions["session_id"])
        let tokens = try await walk.app.send(.post, "/auth/session", body: #"{"session_id":"\#(handle)"}"#)
        let first = PhoneVerificationWalk(walk.app, token: try #require(tokens.text("token")))
        let (id, confirmation) = try await first.open()
        let refreshToken = try #require(tokens.text("refresh_token"))
        let refreshed = try await walk.app.send(
            .post, "/auth/token", body: #"{"grant_type":"refresh_token","refresh_token":"\#(refreshToken)"}"#)
        let second = try #require(refreshed.text("token"), "\(refreshed.body)")
        #expect(try await first.confirm(id, confirmation, in: second).text("status") == "verified")
    }

    @Test("A confirmation is for one verification, and works once")
    func oneUse() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let (first, second) = (try await walk.open(), try await walk.open())
        #expect(try await walk.confirm(first.id, second.confirmation).error == "invalid_grant")
        #expect(try await walk.confirm(first.id, first.confirmation).text("status") == "verified")
        let again = try await walk.confirm(first.id, first.confirmation)
        #expect(again.status == 401 && again.error == "invalid_grant", "\(again.body)")
        #expect(try await walk.show(first.id).text("status") == "verified")
        #expect(try await walk.app.testStore.store.auditEvents(AuditQuery(kind: .phoneNumberVerified)).count == 1)
    }

    @Test("The third wrong confirmation costs the verification", arguments: [true, false])
    func guesses(_ browserIsBack: Bool) async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let started = try await walk.start()
        let back = browserIsBack ? try await walk.open(started) : [:]
        for number in 0..<3 {
            #expect(try await walk.show(started.id).text("status") == "pending")
            #expect(try await walk.confirm(started.id, "GUESS-\(number)").error == "invalid_grant")
        }
        let shown = try await walk.show(started.id)
        #expect(shown.text("status") == "failed" && shown.text("error") == "invalid_grant", "\(shown.body)")
        if let confirmation = back["confirmation"] {
            #expect(try await walk.confirm(started.id, confirmation).error == "invalid_grant")
        } else {
            let late = try await walk.open(started)
            #expect(late["status"] == "failure" && late["confirmation"] == nil, "\(late)")
            #expect(walk.app.count(walk.app.northwind.tokenURL) == 0)
        }
        try await walk.expectUnchanged()
    }

    @Test("A confirmation is good for two minutes, and a verification waits an hour for its browser")
    func expiry() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp(lifetimes: { $0.access = 7200 }))
        let (id, confirmation) = try await walk.open()
        let waiting = try await walk.start()
        walk.app.clock.advance(bySeconds: 120)
        #expect(try await walk.confirm(id, confirmation).error == "invalid_grant")
        let shown = try await walk.show(id)
        #expect(shown.text("status") == "failed" && shown.text("error") == "expired_token", "\(shown.body)")
        #expect(try await walk.show(waiting.id).text("status") == "pending")
        walk.app.clock.advance(bySeconds: 3480)
        #expect(try await walk.show(waiting.id).text("error") == "expired_token")
        try await walk.expectUnchanged()
    }

    @Test("A verification of a session that has ended is dead: the operator is not asked")
    func endedBefore() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let started = try await walk.start()
        let headers: HTTPFields = [.authorization: "Bearer \(walk.token)"]
        #expect(try await walk.app.send(.delete, "/auth/token", headers).status == 200)
        let back = try await walk.open(started)
        #expect(back["status"] == "failure" && back["error"] == "not_found", "\(back)")
        #expect(back["verification_id"] == started.id && back["confirmation"] == nil)
        #expect(walk.app.count(walk.app.northwind.tokenURL) == 0)
    }

    @Test("A session that ends after the browser is back takes its verification with it")
    func endedAfter() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let other = try await PhoneVerificationWalk.session(walk.app)
        let (id, confirmation) = try await walk.open()
        let headers: HTTPFields = [.authorization: "Bearer \(walk.token)"]
        #expect(try await walk.app.send(.delete, "/auth/token", headers).status == 200)
        #expect(try await walk.confirm(id, confirmation).status == 401)
        #expect(try await walk.confirm(id, confirmation, in: other).status == 404)
        #expect(try await walk.app.me(other)["phone_number"]?.string == "+14155550177")
    }

    // MARK: What a browser may bring back

    @Test("The response of another operator is refused before its code is sent anywhere", arguments: [true, false])
    func otherOperator(_ isError: Bool) async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let (app, started) = (walk.app, try await walk.start())
        let state = try #require(started.authorization.parameters["state"])
        let before = app.count(app.southwind.tokenURL)
        let parameter = isError ? "error=login_required" : "code=CODE"
        let back = try await app.finish("state=\(state)&\(parameter)&iss=\(app.southwind.issuer)")
        let answer = try await walk.confirm(started.id, try #require(back["confirmation"]))
        #expect(answer.text("status") == "failed" && answer.text("error") == "issuer_mismatch", "\(answer.body)")
        #expect(app.count(app.northwind.tokenURL) == 0 && app.count(app.southwind.tokenURL) == before)
        try await walk.expectUnchanged()
    }

    @Test("A state and a code work once, and a code in no other verification")
    func usedCode() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let (app, first, second) = (walk.app, try await walk.start(), try await walk.start())
        let code = app.northwind.authorize(nonce: try #require(first.authorization.parameters["nonce"]))
        _ = try await app.finish(first.authorization, code: code)
        let state = try #require(first.authorization.parameters["state"])
        #expect(try await app.send(.get, "/auth/number/callback?state=\(state)&code=\(code)").status == 400)
        let back = try await app.finish(second.authorization, code: code)
        let answer = try await walk.confirm(second.id, try #require(back["confirmation"]))
        #expect(answer.text("status") == "failed" && answer.text("error") == "invalid_grant", "\(answer.body)")
        #expect(app.count(app.northwind.tokenURL) == 1 && app.count(app.northwind.verifyURL) == 1)
    }

    @Test("The browser of a verification is never signed in, and that of a sign-in verifies nothing")
    func noSignIn() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let back = try await walk.open(try await walk.start())
        #expect(back["session_id"] == nil && back["action"] == "verify_phone")
        let signedIn = try await walk.app.outcome()
        #expect(signedIn["confirmation"] == nil && signedIn["action"] == "login")
        try await walk.expectUnchanged()
    }

    // MARK: Numbers that are tried out

    @Test("Both ways of a verification share the limits of a user and of a number")
    func enumeration() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        for number in 0..<5 {
            _ = try await walk.start(#""operator":"northwind","phone_number":"+1415555020\#(number)""#)
        }
        for number in 5..<10 {
            let answer = try await walk.post(
                #""operator_token":"TS43-\#(number)","operator":"northwind","phone_number":"+1415555020\#(number)""#)
            #expect(answer.status == 200, "\(answer.body)")
        }
        let more = #""redirect_uri":"com.example.app://cb","operator":"northwind","phone_number":"+14155550300""#
        let refused = try await walk.post(more)
        #expect(refused.status == 429 && refused.headers[.retryAfter] != nil, "\(refused.body)")
        #expect(walk.app.redirectSignIn.pendingStarts.count == 5)
        for number in 0..<10 {
            let other = try await PhoneVerificationWalk(walk.app, subject: "SUBJECT-\(number)")
            _ = try await other.open(try await other.start(#""operator":"northwind","phone_number":"+14155550300""#))
        }
        let last = try await PhoneVerificationWalk(walk.app, subject: "SUBJECT-of-the-last")
        #expect(try await last.post(more).status == 429)
    }

    @Test("A number that the operator shall tell counts for the user")
    func enumerationWithoutNumber() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        _ = try await walk.app.send(
            .patch, "/users/me", [.authorization: "Bearer \(walk.token)", .contentType: "application/json"],
            body: #"{"phone_number":null}"#)
        for _ in 0..<10 { _ = try await walk.start(#""operator":"northwind""#) }
        let more = try await walk.post(#""redirect_uri":"com.example.app://cb","operator":"northwind""#)
        #expect(more.status == 429, "\(more.body)")
    }

    @Test("The number is no longer verified for whoever had it before, by the confirmation and not earlier")
    func reassigned() async throws {
        let walk = try await PhoneVerificationWalk(NumberApp())
        let former = try await walk.app.token()
        let (id, confirmation) = try await walk.open()
        #expect(try await walk.app.me(former)["phone_number_verified"]?.bool == true)
        #expect(try await walk.confirm(id, confirmation).text("status") == "verified")
        #expect(try await walk.app.me(former)["phone_number_verified"]?.bool == false)
    }
}
