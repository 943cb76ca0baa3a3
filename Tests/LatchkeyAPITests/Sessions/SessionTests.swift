import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Sessions and the account, and the session cache.
@Suite("A session")
struct SessionTests {
    @Test("returns its user, and reads the store only every five seconds")
    func cached() async throws {
        let app = try TestApp()
        let token = try await app.token()
        for _ in 0..<3 { #expect(try await app.me(token).status == 200) }
        #expect(app.storeScript.count(of: .session) == 0)
        app.clock.advance(bySeconds: 5)
        for _ in 0..<3 { #expect(try await app.me(token).status == 200) }
        #expect(app.storeScript.count(of: .session) == 1)
    }

    @Test("returns every key, with null for unknown values")
    func me() async throws {
        let app = try TestApp()
        let me = try await app.me(try await app.token())
        let names = me.json?.members.map(\.name)
        #expect(
            names == [
                "user_id", "username", "name", "email", "postal_code", "phone_number", "zenkey_sub", "sub",
                "created_at", "email_verified", "email_verified_at", "email_verified_by", "phone_number_verified",
                "phone_number_verified_at", "phone_number_verified_by",
            ])
        #expect(me.text("sub") == me.text("zenkey_sub"))
        #expect(me.json?["name"]?.isNull == true)
        #expect(me.integer("created_at") == app.clock.now.secondsSinceEpoch)
        #expect(me.headers[.cacheControl] == "no-store")
        #expect(me.headers[.contentType] == "application/json; charset=utf-8")
    }

    @Test("ends at once when its user signs out, and no other session does")
    func signOut() async throws {
        let app = try TestApp()
        let (first, second) = (try await app.token(), try await app.token())
        let answer = try await app.asUser(.delete, "/auth/token", first)
        #expect(answer.status == 200)
        #expect(answer.body == "{}")
        #expect(try await app.me(first).status == 401)
        #expect(try await app.me(second).status == 200)
        #expect(try await app.asUser(.delete, "/auth/token", first).status == 401)
    }

    @Test("has an event of its beginning and one of its sign-out, if sign-ins are recorded", arguments: [true, false])
    func events(areRecorded: Bool) async throws {
        let app = try TestApp(auditsSignIns: areRecorded)
        let (first, second) = (try await app.token(), try await app.token())
        let answer = try await app.asUser(.delete, "/auth/token", first)
        let events = try await app.store.auditEvents(AuditQuery())
        let kinds = ["session.signed_out", "session.created", "session.created"]
        #expect(events.map(\.event.kind.name) == (areRecorded ? kinds : []))
        #expect(try await app.asUser(.delete, "/users/me", second).status == 200)
        let later = try await app.store.auditEvents(AuditQuery())
        #expect(later.map(\.event.kind.name) == ["user.erased"] + (areRecorded ? kinds : []))
        guard areRecorded else { return }
        #expect(Array(later.dropFirst()) == events, "erasure leaves them as they are")
        #expect(events[0].event.requestID == answer.requestID && events[0].event.actor == .user)
        let (beginning, end) = (events[2].event.details.json, events[0].event.details.json)
        #expect(end == (beginning.split(separator: #","issuer":"#).first ?? "") + "}")
    }

    @Test("ends when its user signs out with a token that refreshes have replaced, as long as the cache knows it")
    func signOutWithReplacedToken() async throws {
        let app = try TestApp()
        let first = try await app.tokens()
        #expect(try await app.me(first.token).status == 200)
        let second = try #require(Tokens(try await app.refresh(first.refreshToken)))
        let third = try #require(Tokens(try await app.refresh(second.refreshToken)))
        #expect(try await app.asUser(.delete, "/auth/token", first.token).status == 200)
        // Before the refresh tokens, because a spent one would end the session, too.
        for tokens in [third, second, first] { #expect(try await app.me(tokens.token).status == 401) }
        for tokens in [third, second, first] { #expect(try await app.refresh(tokens.refreshToken).status == 401) }
        #expect(try await app.asUser(.delete, "/auth/token", third.token).status == 401)
    }

    @Test("that another process ended is refused a sign-out, also from the cache")
    func signOutAfterTheEnd() async throws {
        let app = try TestApp()
        let token = try await app.token()
        try await app.endSessionElsewhere(token)
        #expect(app.storeScript.count(of: .session) <= 1)
        let refused = try await app.asUser(.delete, "/auth/token", token)
        #expect(refused.status == 401)
        #expect(refused.error == "invalid_token")
    }

    @Test("ends at once, with all others, when its user is erased")
    func erase() async throws {
        let app = try TestApp()
        let (first, second) = (try await app.token(), try await app.token())
        #expect(try await app.me(second).status == 200)
        #expect(try await app.asUser(.delete, "/users/me", first).status == 200)
        #expect(try await app.me(first).status == 401)
        #expect(try await app.me(second).status == 401)
        let again = try await app.signIn(SignInBody().code("CODE-2"))
        #expect(again.json?["new_user"]?.bool == true)
    }

    @Test("ends after exactly one hour, cached or not")
    func expiry() async throws {
        let app = try TestApp()
        let token = try await app.token()
        app.clock.advance(bySeconds: 3596)
        #expect(try await app.me(token).status == 200)
        app.clock.advance(bySeconds: 3)
        #expect(try await app.me(token).status == 200)
        let reads = app.storeScript.count(of: .session)
        app.clock.advance(bySeconds: 1)
        #expect(try await app.me(token).status == 401)
        #expect(reads == 1)
    }

    @Test("revoked by another process ends within five seconds")
    func revokedElsewhere() async throws {
        let app = try TestApp()
        let token = try await app.token()
        try await app.endSessionElsewhere(token)
        app.clock.advance(bySeconds: 5)
        #expect(try await app.me(token).status == 401)
    }

    @Test("revoked during a read does not come back from the cache")
    func revocationRace() async throws {
        for path in ["/auth/token", "/users/me"] {
            let app = try TestApp()
            let (token, other) = (try await app.token(), try await app.token())
            app.clock.advance(bySeconds: 5)
            #expect(try await app.me(other).status == 200)
            let gate = Gate()
            app.storeScript.hold(after: .session, at: gate)
            async let slow = app.me(token)
            defer { gate.open() }
            await gate.untilWaiting()
            app.storeScript.hold(after: .session, at: nil)
            // The user signs out, or is erased, while the slow request holds its read.
            let ended = path == "/auth/token" ? token : other
            #expect(try await app.asUser(.delete, path, ended).status == 200)
            gate.open()
            #expect(try await slow.status == 200)
            #expect(try await app.me(token).status == 401)
        }
    }

    @Test("is not looked up if the text cannot be a session token")
    func otherTexts() async throws {
        let app = try TestApp()
        for token in ["x", String(repeating: "a", count: 42), String(repeating: "a", count: 44)] {
            #expect(try await app.me(token).status == 401)
        }
        #expect(app.storeScript.count(of: .session) == 0)
        #expect(try await app.me(String(repeating: "a", count: 43)).status == 401)
        #expect(app.storeScript.count(of: .session) == 1)
    }

    static let failures: [StorageError] = [
        StorageError(.unavailable, reason: "scripted"), StorageError(.full, reason: "scripted"),
        StorageError(.corrupt, reason: "scripted"), StorageError(.overloaded, reason: "scripted"),
        StorageError(.closed, reason: "scripted"), StorageError(.conflict, reason: "scripted"),
    ]

    @Test("is never reported ended because the store is unavailable", arguments: failures)
    func storeFails(_ failure: StorageError) async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp()
        let token = try await app.token()
        app.clock.advance(bySeconds: 5)
        app.storeScript.fail(with: failure)
        let answers = [
            try await app.me(token), try await app.asUser(.delete, "/auth/token", token),
            try await app.asUser(.delete, "/users/me", token), try await app.signIn(SignInBody().code("CODE-2")),
            try await app.signIn(), try await app.post("/users", #"{"state_key":"k"}"#),
            try await app.send(.post, "/auth/zenkey/attempts"), try await app.refresh(token),
            try await app.asUser(.get, "/users/me/sessions", token),
            try await app.asUser(.delete, "/users/me/sessions", token),
            try await app.asUser(.delete, "/users/me/sessions/x", token),
            try await app.form("/auth/introspect", "token=\(token)"),
            try await app.form("/auth/revoke", "token=\(token)"),
            try await app.patch(token, #"{"name":"Jane"}"#),
            try await app.asUser(.get, "/users/me/identities", token),
            try await app.asUser(.delete, "/users/me/identities/x", token),
        ]
        for answer in answers {
            #expect(answer.status == 503)
            #expect(answer.error == "temporarily_unavailable")
            #expect(answer.headers[.retryAfter] != nil)
            #expect(!answer.body.contains("scripted"))
        }
        app.storeScript.fail(with: nil)
        #expect(try await app.me(token).status == 200)
    }

    @Test("is read again if its revocation may have failed")
    func revocationFails() async throws {
        let app = try TestApp()
        let token = try await app.token()
        app.storeScript.fail(with: StorageError(.unavailable, reason: "scripted"))
        #expect(try await app.asUser(.delete, "/auth/token", token).status == 503)
        app.storeScript.fail(with: nil)
        #expect(try await app.me(token).status == 200)
        #expect(app.storeScript.count(of: .session) == 1)
    }
}
