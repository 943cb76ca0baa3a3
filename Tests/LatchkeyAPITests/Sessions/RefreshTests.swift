import HTTPTypes
import Logging
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import SignIn

/// `POST /auth/token`, for users and for thieves.
@Suite("A refresh")
struct RefreshTests {
    @Test("issues new tokens for the same session")
    func rotates() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let answer = try await app.refresh(old.refreshToken)
        #expect(answer.status == 200)
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(
            answer.json?.members.map(\.name) == [
                "token", "access_token", "refresh_token", "token_type", "expires", "expires_in", "new_user",
                "correlation_id",
            ])
        #expect(answer.integer("expires") == 3600)
        #expect(answer.integer("expires_in") == 3600)
        #expect(answer.text("access_token") == answer.text("token"))
        #expect(answer.json?["new_user"]?.bool == false)
        let new = try #require(Tokens(answer))
        #expect(Set([old.token, old.refreshToken, new.token, new.refreshToken]).count == 4)
        #expect(new.token.utf8.count == 48 && old.refreshToken.utf8.count == 48 && new.refreshToken.utf8.count == 92)
        let reads = app.storeScript.count(of: .session)
        #expect(try await app.me(new.token).status == 200)
        #expect(app.storeScript.count(of: .session) == reads)
        let third = try #require(Tokens(try await app.refresh(new.refreshToken)))
        #expect(third.refreshToken.utf8.count == 92)
    }

    @Test("exchanges a token of an earlier version, of 43 characters, and its repetition gets the same tokens")
    func untimed() async throws {
        let app = try TestApp()
        _ = try await app.token()
        let old = (token: RandomSource.system.token(), refresh: RandomSource.system.token())
        let now = app.clock.now
        let session = NewSession(
            id: "old", tokenHash: TokenHash(sha256Of: old.token), refreshTokenHash: TokenHash(sha256Of: old.refresh),
            clientID: "client-1", createdAt: now, expiresAt: now.advanced(bySeconds: 3_600),
            refreshExpiresAt: now.advanced(bySeconds: 86_400))
        let identity = Identity(issuer: "https://issuer.example", subject: "of-an-earlier-version")
        _ = try await app.store.signIn(
            SignInRecord(identity: identity, profile: nil, session: session, newcomers: .welcome(publicID: "p")))
        #expect(try await app.me(old.token).status == 200)
        let new = try #require(Tokens(try await app.refresh(old.refresh)))
        #expect(try #require(Tokens(try await app.refresh(old.refresh))) == new)
        #expect(try await app.me(new.token).status == 200)
        let third = try #require(Tokens(try await app.refresh(new.refreshToken)))
        #expect(try await app.me(third.token).status == 200)
        try await expectRevoked(app, try await app.refresh(old.refresh), [new, third])
    }

    @Test("repeats an exchange of an earlier version with the tokens of that version", arguments: [32, 38])
    func salts(count: Int) throws {
        let shown = try #require(PresentedRefreshToken(Secret(String(repeating: "a", count: 43))))
        let salt = (0..<count).map { UInt8($0) }
        let tokens = SuccessorTokens(of: shown, salt: salt)
        let length = count == 32 ? 43 : 48
        #expect(tokens.token.utf8.count == length && tokens.refreshToken.utf8.count == 44 + length)
        #expect(tokens.token.hasPrefix("AAECAwQF") == (count == 38))
    }

    @Test("of a stored session with impossible times gives tokens of no lifetime")
    func impossibleTimes() throws {
        let shown = try #require(PresentedRefreshToken(Secret(String(repeating: "a", count: 43))))
        let successor = SuccessorTokens(of: shown, salt: [UInt8](repeating: 0, count: 38))
        let never = Timestamp(secondsSinceEpoch: .min)
        let tokens = successor.tokens(expiringAt: (never, never), now: Timestamp(secondsSinceEpoch: 1_800_000_000))
        #expect(tokens.expiresIn == 0 && tokens.refreshExpiresIn == 0)
    }

    @Test("can be JSON or a form, in either spelling, with or without its client")
    func spellings() async throws {
        let app = try TestApp()
        var token = try await app.tokens().refreshToken
        let bodies: [(type: String, body: (String) -> String)] = [
            (
                "application/x-www-form-urlencoded",
                { "grant_type=refresh_token&refresh_token=\($0)&client_id=client-1" }
            ),
            ("application/json", { #"{"grant_type":"refresh_token","refreshToken":"\#($0)","clientId":"client-1"}"# }),
            ("application/json", { #"{"grant_type":"refresh_token","refresh_token":"\#($0)","client_id":null}"# }),
        ]
        for (type, body) in bodies {
            let answer = try await app.send(.post, "/auth/token", [.contentType: type], body: body(token))
            #expect(answer.status == 200)
            token = try #require(Tokens(answer)).refreshToken
        }
    }

    @Test("echoes its correlation id, in responses and errors")
    func correlation() async throws {
        let app = try TestApp()
        let token = try await app.tokens().refreshToken
        for (refreshToken, status) in [(token, 200), (String(repeating: "x", count: 43), 401)] {
            let answer = try await app.post(
                "/auth/token",
                #"{"grant_type":"refresh_token","refresh_token":"\#(refreshToken)","correlation_id":"c-9"}"#)
            #expect(answer.status == status)
            #expect(answer.text("correlation_id") == "c-9")
        }
    }

    static let malformed: [(body: String, error: String, says: [String])] = [
        ("{}", "invalid_request", ["grant_type is missing", "refresh_token is missing"]),
        (#"{"grant_type":"refresh_token"}"#, "invalid_request", ["refresh_token is missing"]),
        (#"{"refresh_token":"x"}"#, "invalid_request", ["grant_type is missing"]),
        (#"{"grant_type":"refresh_token","refresh_token":7}"#, "invalid_request", ["refresh_token must be a string"]),
        (#"{"grant_type":"refresh_token","refresh_token":"a b"}"#, "invalid_request", ["refresh_token must have"]),
        (#"{"grant_type":"password","refresh_token":"x"}"#, "unsupported_grant_type", ["refresh_token"]),
    ]

    @Test("that is malformed gets an error with all problems", arguments: malformed)
    func malformedBody(_ row: (body: String, error: String, says: [String])) async throws {
        let answer = try await TestApp().post("/auth/token", row.body)
        #expect(answer.status == 400)
        #expect(answer.error == row.error)
        for words in row.says { #expect(answer.description.contains(words)) }
    }

    @Test("needs an API key")
    func apiKey() async throws {
        let app = try TestApp()
        let token = try await app.tokens().refreshToken
        for key in [nil, "unknown"] as [String?] {
            #expect(try await app.refresh(token, apiKey: key).error == "invalid_api_key")
        }
        #expect(try await app.refresh(token).status == 200)
    }

    // MARK: Repeated refreshes

    @Test(
        "repeated gets the same tokens, however late, as long as the new refresh token is unused",
        arguments: [0, 31, 3_600, 13 * 86_400])
    func again(after seconds: Int64) async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        app.clock.advance(bySeconds: seconds)
        for instance in [app, try TestApp(beside: app)] {
            let again = try await instance.refresh(old.refreshToken)
            #expect(Tokens(again) == new)
            #expect(again.integer("expires") == max(0, 3600 - seconds))
        }
        #expect(try await app.me(new.token).status == (seconds < 3600 ? 200 : 401))
        let third = try #require(Tokens(try await app.refresh(new.refreshToken)))
        // Now the new refresh token was used.
        try await expectRevoked(app, try await app.refresh(old.refreshToken), [old, new, third])
    }

    @Test("whose response was lost after the commit can be repeated")
    func lostAnswer() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        app.storeScript.lose(.rotate, with: StorageError(.unavailable, reason: "scripted"))
        let lost = try await app.refresh(old.refreshToken)
        #expect(lost.status == 503)
        #expect(lost.headers[.retryAfter] != nil)
        app.storeScript.lose(.rotate, with: nil)
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        #expect(try await app.me(new.token).status == 200)
        #expect(try await app.refresh(new.refreshToken).status == 200)
    }

    @Test("of two windows at the same time gives both the same tokens")
    func twoWindows() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let gate = Gate()
        app.storeScript.hold(after: .refreshToken, at: gate)
        async let first = app.refresh(old.refreshToken)
        async let second = app.refresh(old.refreshToken)
        // Both have read the token as live.
        await gate.untilWaiting(2)
        app.storeScript.hold(after: .refreshToken, at: nil)
        gate.open()
        let tokens = [Tokens(try await first), Tokens(try await second)]
        #expect(tokens[0] != nil)
        #expect(tokens[0] == tokens[1])
        #expect(try await app.me(tokens[0]?.token ?? "").status == 200)
    }

    @Test("of one token by many at once leaves one session, and all get working tokens")
    func many() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<64 { group.addTask { try await app.refresh(old.refreshToken) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.status == 200 })
        let tokens = Set(answers.compactMap(Tokens.init))
        #expect(tokens.count == 1)
        let new = try #require(tokens.first)
        app.clock.advance(bySeconds: 5)
        #expect(try await app.me(new.token).status == 200)
        #expect(try await app.refresh(new.refreshToken).status == 200)
    }

    @Test("keeps the former session token valid for the grace period, and no longer")
    func formerToken() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        _ = try await app.refresh(old.refreshToken)
        app.clock.advance(bySeconds: 29)
        #expect(try await app.me(old.token).status == 200)
        app.clock.advance(bySeconds: 6)
        #expect(try await app.me(old.token).status == 401)
    }

    @Test("signed out with the former session token ends the new one at once, too")
    func signOutWithFormerToken() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        #expect(try await app.me(new.token).status == 200)
        #expect(try await app.asUser(.delete, "/auth/token", old.token).status == 200)
        #expect(try await app.me(new.token).status == 401)
        #expect(try await app.refresh(new.refreshToken).status == 401)
    }

    @Test("without a grace period ends the old session token at once, and cannot be repeated")
    func noGrace() async throws {
        let app = try TestApp(lifetimes: { $0.refreshGrace = 0 })
        let old = try await app.tokens()
        #expect(try await app.me(old.token).status == 200)
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        #expect(try await app.me(old.token).status == 401)
        #expect(try await app.me(new.token).status == 200)
        try await expectRevoked(app, try await app.refresh(old.refreshToken), [old, new])
    }

    // MARK: Thieves

    @Test("with a token older than the last exchange ends the session, however recent")
    func reuse() async throws {
        let app = try TestApp()
        let first = try await app.tokens()
        let second = try #require(Tokens(try await app.refresh(first.refreshToken)))
        let third = try #require(Tokens(try await app.refresh(second.refreshToken)))
        #expect(try await app.me(third.token).status == 200)
        try await expectRevoked(app, try await app.refresh(first.refreshToken), [first, second, third])
        #expect(app.log.lines.contains { $0.message.contains("revoked") && $0.level == .warning })
        let events = try await app.store.auditEvents(AuditQuery())
        #expect(events.map(\.event.kind.name) == ["refresh_token.reused"])
        #expect(events.first?.event.actor == .latchkey)
    }

    @Test("with any former token ends the session, however often a thief has exchanged")
    func reuseLater() async throws {
        let app = try TestApp()
        let first = try await app.tokens()
        var last = first
        for _ in 0..<300 {
            last = try #require(Tokens(try await app.refresh(last.refreshToken)))
            app.clock.advance(bySeconds: 1)
        }
        #expect(try await app.me(last.token).status == 200)
        try await expectRevoked(app, try await app.refresh(first.refreshToken), [first, last])
    }

    @Test("with an unknown family, or a forged token in a family, gets no tokens")
    func families() async throws {
        let app = try TestApp()
        let first = try await app.tokens()
        let second = try #require(Tokens(try await app.refresh(first.refreshToken)))
        let halves = second.refreshToken.split(separator: ".").map(String.init)
        try #require(halves.count == 2)
        try expectRefused(try await app.refresh(String(repeating: "a", count: 43) + "." + halves[1]))
        try expectRefused(try await app.refresh(halves[1]))
        try expectRefused(try await app.refresh(halves[0]))
        try expectRefused(try await app.refresh(second.refreshToken + "." + halves[1]))
        #expect(try await app.me(second.token).status == 200)
        // Only a holder of one of the session's tokens knows the family.
        let forged = halves[0] + "." + String(repeating: "a", count: 43)
        try await expectRevoked(app, try await app.refresh(forged), [first, second])
    }

    @Test("ends no other session of the same user")
    func reuseElsewhere() async throws {
        let app = try TestApp()
        let (one, other) = (try await app.tokens(), try await app.tokens(SignInBody().code("CODE-2")))
        let next = try #require(Tokens(try await app.refresh(one.refreshToken)))
        _ = try await app.refresh(next.refreshToken)
        #expect(try await app.refresh(one.refreshToken).status == 401)
        #expect(try await app.me(one.token).status == 401)
        #expect(try await app.me(other.token).status == 200)
        #expect(try await app.refresh(other.refreshToken).status == 200)
    }

    @Test("repeated by another caller who may have the session gets the same tokens")
    func otherCaller() async throws {
        let app = try TestApp(allowedOrigins: ["https://app.example"])
        let old = try await app.tokens()
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        let page = try await app.refresh(old.refreshToken, apiKey: nil, [.origin: "https://app.example"])
        #expect(Tokens(page) == new)
        #expect(try await Tokens(app.refresh(old.refreshToken, apiKey: TestApp.otherAPIKey)) == new)
    }

    @Test("as another client is refused, and does not end the session")
    func otherClient() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        try expectRefused(try await app.refresh(old.refreshToken, client: "client-2"))
        let new = try #require(Tokens(try await app.refresh(old.refreshToken, client: "client-1")))
        try expectRefused(try await app.refresh(old.refreshToken, client: "client-2"))
        #expect(try await app.refresh(new.refreshToken).status == 200)
    }

    @Test("with anything but a live refresh token gets the same error")
    func worthless() async throws {
        let app = try TestApp()
        let (tokens, ended) = (try await app.tokens(), try await app.tokens(SignInBody().code("CODE-2")))
        _ = try await app.asUser(.delete, "/auth/token", ended.token)
        var bodies: Set<String> = []
        for token in [
            tokens.token, ended.refreshToken, String(repeating: "a", count: 43), "short",
            String(repeating: "a", count: 500),
        ] {
            let answer = try await app.refresh(token)
            try expectRefused(answer)
            bodies.insert(answer.description)
        }
        #expect(bodies.count == 1)
        #expect(try await app.refresh(tokens.refreshToken).status == 200)
    }

    @Test("of an erased user is refused")
    func erased() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        #expect(try await app.asUser(.delete, "/users/me", new.token).status == 200)
        for token in [old.refreshToken, new.refreshToken] { try expectRefused(try await app.refresh(token)) }
    }

    @Test("overtaken by a sign-out is refused, and leaves nothing behind")
    func overtaken() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let gate = Gate()
        app.storeScript.hold(after: .refreshToken, at: gate)
        async let slow = app.refresh(old.refreshToken)
        defer { gate.open() }
        await gate.untilWaiting()
        app.storeScript.hold(after: .refreshToken, at: nil)
        #expect(try await app.asUser(.delete, "/auth/token", old.token).status == 200)
        gate.open()
        try expectRefused(try await slow)
        #expect(try await app.me(old.token).status == 401)
    }

    @Test("writes no token to log lines and errors")
    func secrecy() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        _ = try await app.refresh(old.refreshToken)
        _ = try await app.refresh(new.refreshToken)
        let refused = try await app.refresh(old.refreshToken)
        for secret in [old.token, old.refreshToken, new.token, new.refreshToken, TestApp.apiKey] {
            #expect(!app.log.text.contains(secret))
            #expect(!refused.body.contains(secret))
        }
    }

    private func expectRefused(_ answer: Answer) throws {
        #expect(answer.status == 401)
        #expect(answer.error == "invalid_grant")
        #expect(answer.text("error_type") == "requestDenied")
        #expect(answer.headers[.wwwAuthenticate] == "Bearer")
    }

    /// Refused, and the session has ended with all its tokens.
    private func expectRevoked(_ app: TestApp, _ answer: Answer, _ tokens: [Tokens]) async throws {
        try expectRefused(answer)
        for tokens in tokens {
            #expect(try await app.me(tokens.token).status == 401)
            try expectRefused(try await app.refresh(tokens.refreshToken))
        }
    }
}
