import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Retries of a sign-in.
@Suite("The same sign-in sent again")
struct RetryTests {
    @Test("starts another session of the same user with one token request")
    func sameUser() async throws {
        let app = try TestApp()
        let first = try await app.token()
        app.clock.advance(bySeconds: 60)
        let second = try await app.token()
        #expect(first != second)
        #expect(app.carrier.tokenPosts == 1)
        let users = [try await app.me(first).integer("user_id"), try await app.me(second).integer("user_id")]
        #expect(users[0] != nil && users[0] == users[1])
    }

    @Test("starts at most sixteen more sessions, one by one or all at once", arguments: [false, true])
    func sentTooOften(atOnce: Bool) async throws {
        let app = try TestApp()
        let limit = RetryTests.repeats
        let statuses: [Int]
        if atOnce {
            statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<(limit + 9) { group.addTask { try await app.signIn(SignInBody()).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        } else {
            var found: [Int] = []
            for _ in 0..<(limit + 9) { found.append(try await app.signIn(SignInBody()).status) }
            statuses = found
        }
        #expect(statuses.count { $0 == 200 } == limit + 1)
        #expect(statuses.count { $0 == 401 } == 8)
        #expect(app.carrier.tokenPosts == 1)
        #expect(try await app.signIn(SignInBody().code("CODE-2")).status == 200)
    }

    private static let repeats = 16

    @Test("starts no session after its user signed out; retries of a later sign-in work")
    func afterSignOut() async throws {
        let app = try TestApp()
        let token = try await app.token()
        #expect(try await app.asUser(.delete, "/auth/token", token).status == 200)
        let again = try await app.signIn()
        #expect(again.status == 401)
        #expect(again.error == "invalid_grant")
        #expect(again.description.contains("signed out since"))
        let later = SignInBody().code("CODE-2")
        #expect(try await app.signIn(later).status == 200)
        #expect(try await app.signIn(later).status == 200)
        #expect(app.carrier.tokenPosts == 2)
    }

    /// The ways to end a session, given the app and the session's tokens.
    static let endings: [@Sendable (TestApp, Tokens) async throws -> Answer] = [
        { app, tokens in
            let id = try #require(try await app.sessions(tokens.token).first?["id"]?.string)
            return try await app.asUser(.delete, "/users/me/sessions/\(id)", tokens.token)
        },
        { app, tokens in try await app.asUser(.delete, "/users/me/sessions", tokens.token) },
        { app, tokens in try await app.form("/auth/revoke", "token=\(tokens.refreshToken)") },
        { app, tokens in
            let next = try #require(Tokens(try await app.refresh(tokens.refreshToken)))
            _ = try await app.refresh(next.refreshToken)
            #expect(try await app.refresh(tokens.refreshToken).status == 401)
            return try await app.send(.get, "/healthz")
        },
    ]

    @Test("starts no session after another way of ending one of the user's sessions", arguments: endings.indices)
    func afterAnotherEnding(_ index: Int) async throws {
        let app = try TestApp()
        let tokens = try await app.tokens()
        #expect(try await Self.endings[index](app, tokens).status == 200)
        let again = try await app.signIn()
        #expect(again.error == "invalid_grant")
        #expect(again.description.contains("signed out since"))
    }

    @Test("starts no session after another process ended the first one")
    func afterEndingElsewhere() async throws {
        let app = try TestApp()
        let token = try await app.token()
        #expect(try await app.signIn(SignInBody().code("CODE-2")).status == 200)
        try await app.endSessionElsewhere(token)
        let again = try await app.signIn()
        #expect(again.status == 401)
        #expect(again.error == "invalid_grant")
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test("is not affected by another user's sign-out")
    func afterAnotherUsersSignOut() async throws {
        let app = try TestApp()
        _ = try await app.token()
        app.carrier.script { $0.subject = "SUBJECT-of-somebody-else" }
        let other = try await app.token(SignInBody().code("CODE-2"))
        #expect(try await app.asUser(.delete, "/auth/token", other).status == 200)
        #expect(try await app.signIn().status == 200)
    }

    @Test("says again whether the user is new, and counts the user once")
    func newUser() async throws {
        let app = try TestApp()
        let other = SignInBody().code("CODE-2")
        func news(_ body: SignInBody) async throws -> Bool? { try await app.signIn(body).json?["new_user"]?.bool }
        #expect(try await news(SignInBody()) == true)
        // In the same second as the first one.
        #expect(try await news(other) == false)
        #expect(try await news(SignInBody()) == true)
        #expect(try await news(other) == false)
        app.clock.advance(bySeconds: 30)
        #expect(try await news(SignInBody()) == true)
        #expect(try await news(other) == false)
        let outcomes = app.log.signIns.map { $0.metadata["outcome"] }
        #expect(outcomes == ["signed_up"] + Array(repeating: "signed_in", count: 5))
    }

    @Test("has its own correlation id in the response and the log")
    func secondAnswer() async throws {
        let app = try TestApp()
        _ = try await app.signIn()
        let second = try await app.signIn(SignInBody().with("correlation_id", "\"corr-2\""))
        #expect(second.json?["new_user"]?.bool == true)
        #expect(second.text("correlation_id") == "corr-2")
        #expect(app.log.signIns.last?.metadata["sent_before"] == "true")
        #expect(app.log.signIns.last?.metadata["correlation_id"] == "corr-2")
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("asks the carrier after one minute")
    func afterTheWindow() async throws {
        let app = try TestApp()
        _ = try await app.signIn()
        app.clock.advance(bySeconds: 61)
        _ = try await app.signIn()
        #expect(app.carrier.tokenPosts == 2)
    }

    static let others: [SignInBody] = [
        SignInBody().with("code_verifier", "\"\(String(repeating: "w", count: 50))\""),
        SignInBody().with("nonce", "\"another\""), SignInBody().with("nonce", nil),
        SignInBody().with("mccmnc", "\"310411\""), SignInBody().with("redirect_uri", "\"com.example.app://cb\""),
        SignInBody().with("acr_values", "\"a3\""), SignInBody().with("context", "\"Pay\""),
        SignInBody().with("scope", "\"openid\""), SignInBody().with("state", "\"s\""),
        SignInBody().with("client_id", "\"client-2\""),
    ]

    @Test("is another sign-in if any field differs, and gets nothing from the first", arguments: others)
    func anotherRequest(_ body: SignInBody) async throws {
        let app = try TestApp()
        _ = try await app.signIn()
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in .json(#"{"error":"invalid_grant"}"#, status: 400) }
        }
        let answer = try await app.signIn(body)
        #expect(answer.status == 401 || answer.description.contains("client_id"))
        #expect(answer.text("token") == nil)
    }

    /// Callers other than the one that signed in: another API key, and an allowed origin.
    static let otherCallers: [(apiKey: String?, origin: String?)] = [
        (TestApp.otherAPIKey, nil), (nil, "https://app.example"),
    ]

    @Test("is another sign-in if another caller sends it, and gets nothing from the first", arguments: otherCallers)
    func anotherCaller(_ apiKey: String?, _ origin: String?) async throws {
        let app = try TestApp(allowedOrigins: ["https://app.example"])
        _ = try await app.token()
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in .json(#"{"error":"invalid_grant"}"#, status: 400) }
        }
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[.origin] = origin
        for _ in 0..<2 {
            let answer = try await app.send(
                .post, "/auth/zenkey-signin", headers, body: SignInBody().json, apiKey: apiKey)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_grant")
        }
        #expect(app.carrier.tokenPosts == 2)
        #expect(try await app.signIn().status == 200)
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test("from an allowed origin gets another session, as with an API key")
    func sameOrigin() async throws {
        let app = try TestApp(allowedOrigins: ["https://app.example"])
        let headers: HTTPFields = [.contentType: "application/json", .origin: "https://app.example"]
        for _ in 0..<2 {
            let answer = try await app.send(
                .post, "/auth/zenkey-signin", headers, body: SignInBody().json, apiKey: nil)
            #expect(answer.status == 200)
        }
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("without a code verifier is refused, whoever sends it, and not posted", arguments: [false, true])
    func withoutVerifier(isShared: Bool) async throws {
        let app = try TestApp(store: TestStore(isShared: isShared), client: { $0.pkce = .optional })
        let body = SignInBody().with("code_verifier", nil)
        #expect(try await app.signIn(body).status == 200)
        for _ in 0..<2 {
            let answer = try await app.signIn(body)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_grant")
            #expect(answer.description.contains("code_verifier"))
        }
        #expect(app.carrier.tokenPosts == 1)
        // With its verifier, a sign-in of the same client has retries.
        for _ in 0..<2 { #expect(try await app.signIn(SignInBody().code("CODE-2")).status == 200) }
        #expect(app.carrier.tokenPosts == 2)
        // After the minute, and at another process, the carrier decides.
        app.carrier.script {
            $0.token = { _ throws(OutboundError) in .json(#"{"error":"invalid_grant"}"#, status: 400) }
        }
        let other = try TestApp(beside: app, client: { $0.pkce = .optional })
        #expect(try await other.signIn(body).error == "invalid_grant")
        app.clock.advance(bySeconds: 61)
        #expect(try await app.signIn(body).error == "invalid_grant")
        #expect(app.carrier.tokenPosts == 4)
    }

    @Test("without a code verifier is refused if the user must register, or the store failed")
    func withoutVerifierAndSession() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(client: { $0.pkce = .optional }, registration: rules)
        let body = SignInBody().with("code_verifier", nil)
        #expect(try await app.signIn(body).error == "user_not_registered")
        #expect(try await app.signIn(body).error == "invalid_grant")
        let second = body.code("CODE-2")
        app.storeScript.fail(.signIn, with: StorageError(.unavailable, reason: "scripted"))
        let failed = try await app.signIn(second)
        #expect(failed.status == 503 && failed.description.contains("Start a new sign-in"))
        app.storeScript.fail(.signIn, with: nil)
        #expect(try await app.signIn(second).error == "invalid_grant")
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test("without a code verifier can be sent again if the first one failed before the code was posted")
    func withoutVerifierBeforeTheCode() async throws {
        let app = try TestApp(client: { $0.pkce = .optional })
        let body = SignInBody().with("code_verifier", nil)
        app.carrier.script {
            $0.discovery = { _ throws(OutboundError) in
                throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "scripted")
            }
        }
        #expect(try await app.signIn(body).status == 502)
        app.carrier.script { $0.discovery = nil }
        #expect(try await app.signIn(body).status == 200)
    }

    @Test("gets the same error if the code was posted, without another token request")
    func sameRefusal() async throws {
        for code in [OutboundError.Code.timedOut, .malformed] {
            let app = try TestApp()
            app.carrier.script {
                $0.token = { _ throws(OutboundError) in
                    throw OutboundError(code, mayHaveBeenSent: true, reason: "scripted")
                }
            }
            let first = try await app.signIn()
            app.carrier.script { $0.token = nil }
            let second = try await app.signIn()
            #expect(first.status == second.status)
            #expect(first.description == second.description)
            #expect(app.carrier.tokenPosts == 1)
        }
    }

    @Test("gets the same error if the ID token or the attributes were at fault")
    func refusedAfterTheExchange() async throws {
        let app = try TestApp()
        app.carrier.script { $0.nonce = "another" }
        _ = try await app.signIn()
        app.carrier.script { $0.nonce = "NONCE-of-the-app" }
        #expect(try await app.signIn().error == "invalid_id_token")
        let body = SignInBody().code("CODE-2").with("scope", "\"openid email\"")
        app.carrier.script { $0.userInfo = { _ throws(OutboundError) in .json("{}", status: 500) } }
        #expect(try await app.signIn(body).status == 502)
        app.carrier.script { $0.userInfo = nil }
        #expect(try await app.signIn(body).status == 502)
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test("gets the same error if the provider's keys were unavailable")
    func noKeys() async throws {
        let app = try TestApp()
        app.carrier.script { $0.keys = { _ throws(OutboundError) in .json("{}", status: 500) } }
        #expect(try await app.signIn().status == 502)
        app.carrier.script { $0.keys = nil }
        #expect(try await app.signIn().status == 502)
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("is tried again if the first one failed before the code was posted")
    func triedAgain() async throws {
        let app = try TestApp()
        let unreachable: FakeCarrier.Answer = { _ throws(OutboundError) in
            throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "scripted")
        }
        app.carrier.script { $0.discovery = unreachable }
        #expect(try await app.signIn().status == 502)
        app.carrier.script {
            $0.discovery = nil
            $0.token = unreachable
        }
        #expect(try await app.signIn().status == 502)
        app.carrier.script { $0.token = nil }
        #expect(try await app.signIn().status == 200)
    }

    @Test("continues where the store failed, without the carrier")
    func storeFailed() async throws {
        let app = try TestApp()
        _ = try await app.token(SignInBody().code("CODE-0"))
        app.storeScript.fail(.signIn, with: StorageError(.full, reason: "scripted"))
        let failed = try await app.signIn()
        #expect(failed.status == 503 && failed.description.contains("Send the same request again"))
        #expect(app.log.lines.contains { $0.message == "sign-in refused" && $0.metadata["cause"] == "scripted" })
        #expect(app.carrier.tokenPosts == 2)
        app.storeScript.fail(.signIn, with: nil)
        #expect(try await app.signIn().status == 200)
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test("does not bring back an erased user")
    func erasedUser() async throws {
        let app = try TestApp()
        let token = try await app.token()
        #expect(try await app.asUser(.delete, "/users/me", token).status == 200)
        let answer = try await app.signIn()
        #expect(answer.status == 401)
        #expect(answer.error == "invalid_grant")
    }

    @Test("gets a new handle for the same identity if registration is required")
    func freshHandle() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(registration: rules)
        let first = try #require(try await app.signIn().text("state_key"))
        let second = try #require(try await app.signIn().text("state_key"))
        #expect(first != second)
        #expect(app.carrier.tokenPosts == 1)
        #expect(try await app.post("/users", #"{"state_key":"\#(second)"}"#).status == 201)
        #expect(try await app.post("/users", #"{"state_key":"\#(first)"}"#).error == "user_already_exists")
        #expect(try await app.signIn().status == 200)
    }

    @Test("starts no session after its user registered with an earlier response and signed out")
    func afterRegistrationAndSignOut() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(registration: rules)
        let handle = try #require(try await app.signIn().text("state_key"))
        let tokens = try #require(Tokens(try await app.post("/users", #"{"state_key":"\#(handle)"}"#)))
        #expect(try await app.asUser(.delete, "/auth/token", tokens.token).status == 200)
        for _ in 0..<2 {
            let answer = try await app.signIn()
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_grant")
        }
        #expect(try await app.signIn(SignInBody().code("CODE-2")).status == 200)
    }

    @Test("gets at most sixteen more handles")
    func handlesTooOften() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(registration: rules)
        var statuses: [Int] = []
        for _ in 0..<20 { statuses.append(try await app.signIn().status) }
        #expect(statuses == Array(repeating: 403, count: 17) + Array(repeating: 401, count: 3))
        #expect(app.carrier.tokenPosts == 1)
    }
}

/// The same sign-in sent twice at the same time.
@Suite("The same sign-in sent at the same time")
struct SimultaneousSignInTests {
    /// Waits until `count` requests wait for the same sign-in under way.
    private func untilWaiting(_ count: Int, _ app: TestApp) async {
        while app.useCases.signIn.waitingCount < count { await Task.yield() }
    }

    @Test("makes one token request, and each request gets its own session")
    func oneTokenRequest() async throws {
        let app = try TestApp()
        let gate = Gate()
        app.carrier.script { script in
            script.token = { [carrier = app.carrier] _ throws(OutboundError) in
                await gate.pass()
                return carrier.tokens()
            }
        }
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try await app.token() } }
            await gate.untilWaiting()
            await untilWaiting(7, app)
            gate.open()
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens.count == 8)
        #expect(app.carrier.tokenPosts == 1)
        var users: Set<Int64?> = []
        for token in tokens { users.insert(try await app.me(token).integer("user_id")) }
        #expect(users.count == 1)
    }

    @Test("without a code verifier makes one token request, and one of them gets a session")
    func withoutVerifier() async throws {
        let app = try TestApp(client: { $0.pkce = .optional })
        let gate = Gate()
        app.carrier.script { script in
            script.token = { [carrier = app.carrier] _ throws(OutboundError) in
                await gate.pass()
                return carrier.tokens()
            }
        }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask { try await app.signIn(SignInBody().with("code_verifier", nil)).status }
            }
            await gate.untilWaiting()
            await untilWaiting(3, app)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [200, 401, 401, 401])
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("shares a failure from before the code was posted, and can be retried")
    func sharedFailure() async throws {
        let app = try TestApp()
        let gate = Gate()
        app.carrier.script { script in
            script.discovery = { _ throws(OutboundError) in
                await gate.pass()
                return .json("{}", status: 500)
            }
        }
        async let first = app.signIn()
        await gate.untilWaiting()
        async let second = app.signIn()
        await untilWaiting(1, app)
        gate.open()
        #expect(try await [first.status, second.status] == [502, 502])
        app.carrier.script { $0.discovery = nil }
        #expect(try await app.signIn().status == 200)
    }

    @Test("is taken over by a waiting request if the first one is cancelled")
    func cancelledLeader() async throws {
        let app = try TestApp()
        let gate = Gate()
        app.carrier.script { script in
            script.discovery = { _ throws(OutboundError) in
                await gate.pass()
                return .json("{}", status: 500)
            }
        }
        let leader = Task { try await app.signIn().status }
        await gate.untilWaiting()
        let follower = Task { try await app.signIn().status }
        await untilWaiting(1, app)
        leader.cancel()
        app.carrier.script { $0.discovery = nil }
        gate.open()
        #expect(try await leader.value == 502)
        #expect(try await follower.value == 200)
        #expect(app.carrier.tokenPosts == 1)
    }
}
