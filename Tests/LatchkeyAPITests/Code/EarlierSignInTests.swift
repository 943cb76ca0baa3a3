import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// Retries of a sign-in at a process that does not have it in memory: at another instance, or
/// after a restart.
@Suite("The same sign-in sent to another instance, or after a restart")
struct EarlierSignInTests {
    private static let spent: FakeCarrier.Answer = { _ throws(OutboundError) in
        .json(#"{"error":"invalid_grant"}"#, status: 400)
    }

    private func user(_ app: TestApp, _ token: String) async throws -> Int64 {
        try #require(try await app.me(token).integer("user_id"))
    }

    private func instances(
        client: @escaping (inout SignInConfiguration.Client) -> Void = { _ in }
    ) throws -> (app: TestApp, other: TestApp) {
        let app = try TestApp(store: TestStore(isShared: true), client: client)
        return (app, try TestApp(beside: app, client: client))
    }

    @Test("starts another session of the same user with one token request", arguments: [true, false])
    func sameUser(isShared: Bool) async throws {
        let app = try TestApp(store: TestStore(isShared: isShared))
        let first = try await app.token()
        app.clock.advance(bySeconds: 60)
        let other = try TestApp(beside: app)
        let answer = try await other.signIn(SignInBody().with("correlation_id", "\"corr-2\""))
        let second = try #require(answer.text("token"))
        #expect(first != second)
        #expect(answer.json?["new_user"]?.bool == true)
        #expect(answer.text("correlation_id") == "corr-2")
        #expect(app.carrier.tokenPosts == 1)
        #expect(try await user(app, second) == user(other, first))
        let line = try #require(other.log.signIns.last)
        #expect(line.metadata["sent_before"] == "true")
        #expect(line.metadata["outcome"] == "signed_in")
        #expect(Set(line.metadata.keys.filter { $0.hasSuffix("_ms") }) == ["recall_ms", "store_ms"])
    }

    @Test("says of a known user that it is not new", arguments: [true, false])
    func knownUser(isShared: Bool) async throws {
        let app = try TestApp(store: TestStore(isShared: isShared))
        _ = try await app.token()
        let later = SignInBody().code("CODE-2")
        #expect(try await app.signIn(later).json?["new_user"]?.bool == false)
        let other = try TestApp(beside: app)
        #expect(try await other.signIn(later).json?["new_user"]?.bool == false)
        #expect(try await other.signIn().json?["new_user"]?.bool == true)
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test("is a new sign-in after one minute, on both instances", arguments: [true, false])
    func afterTheWindow(isShared: Bool) async throws {
        let app = try TestApp(store: TestStore(isShared: isShared))
        _ = try await app.token()
        app.clock.advance(bySeconds: 40)
        let other = try TestApp(beside: app)
        _ = try await other.token()
        #expect(app.carrier.tokenPosts == 1)
        app.clock.advance(bySeconds: 21)
        // The other instance remembers it no longer than the first.
        app.carrier.script { $0.token = Self.spent }
        #expect(try await other.signIn().error == "invalid_grant")
        #expect(try await app.signIn().error == "invalid_grant")
        #expect(app.carrier.tokenPosts == 3)
    }

    @Test("is looked up in the store each time if there are other instances, and else read once, in the first minute")
    func looks() async throws {
        for (isShared, wait, lookUps, reads) in [(true, 60, 2, 0), (false, 60, 0, 1), (false, 61, 0, 0)] {
            let app = try TestApp(store: TestStore(isShared: isShared))
            app.clock.advance(bySeconds: Int64(wait))
            _ = try await app.token()
            // From memory.
            _ = try await app.token()
            _ = try await app.token(SignInBody().code("CODE-2"))
            #expect(app.storeScript.count(of: .recentSignIn) == lookUps)
            #expect(app.storeScript.count(of: .recentSignIns) == reads)
        }
    }

    @Test("starts no session after a restart if one of the user's was ended", arguments: RetryTests.endings.indices)
    func restartAfterEnding(_ index: Int) async throws {
        let app = try TestApp(store: TestStore())
        let tokens = try await app.tokens()
        #expect(try await RetryTests.endings[index](app, tokens).status == 200)
        let restarted = try TestApp(beside: app)
        for _ in 0..<2 {
            let answer = try await restarted.signIn()
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_grant")
            #expect(answer.description.contains("signed out since"))
        }
        #expect(app.carrier.tokenPosts == 1)
        #expect(try await restarted.signIn(SignInBody().code("CODE-2")).status == 200)
    }

    @Test("waits for what was done before a restart, and posts nothing while that cannot be read")
    func unreadable() async throws {
        let app = try TestApp(store: TestStore())
        _ = try await app.token()
        let restarted = try TestApp(beside: app)
        app.storeScript.fail(.recentSignIns, with: StorageError(.unavailable, reason: "scripted"))
        #expect(try await restarted.signIn().error == "temporarily_unavailable")
        #expect(try await restarted.signIn(SignInBody().code("CODE-2")).error == "temporarily_unavailable")
        #expect(app.carrier.tokenPosts == 1)
        app.storeScript.fail(.recentSignIns, with: nil)
        #expect(try await restarted.signIn().status == 200)
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("starts at most sixteen more sessions on each instance")
    func sentTooOften() async throws {
        let (app, other) = try instances()
        _ = try await app.token()
        for (instance, count) in [(other, 16), (app, 16)] {
            var statuses: [Int] = []
            for _ in 0..<18 { statuses.append(try await instance.signIn().status) }
            #expect(statuses == Array(repeating: 200, count: count) + Array(repeating: 401, count: 18 - count))
        }
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("is another sign-in if any field differs, and gets nothing from the first", arguments: RetryTests.others)
    func anotherRequest(_ body: SignInBody) async throws {
        let (app, other) = try instances()
        _ = try await app.token()
        app.carrier.script { $0.token = Self.spent }
        let answer = try await other.signIn(body)
        #expect(answer.status == 401 || answer.description.contains("client_id"))
        #expect(answer.text("token") == nil)
    }

    @Test(
        "starts no session after one of the user's was ended at the other instance",
        arguments: RetryTests.endings.indices, [false, true])
    func afterEnding(_ index: Int, wasHere: Bool) async throws {
        let (app, other) = try instances()
        let tokens = try await app.tokens()
        if wasHere { #expect(try await other.signIn().status == 200) }
        #expect(try await RetryTests.endings[index](app, tokens).status == 200)
        for instance in [other, app, other] {
            let answer = try await instance.signIn()
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_grant")
            #expect(answer.description.contains("signed out since"))
        }
        #expect(app.carrier.tokenPosts == 1)
        #expect(try await other.signIn(SignInBody().code("CODE-2")).status == 200)
        #expect(try await app.signIn(SignInBody().code("CODE-2")).status == 200)
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test("starts no session after another session of the user was ended at the other instance")
    func afterAnotherEnding() async throws {
        let (app, other) = try instances()
        _ = try await app.token()
        let second = try await app.token(SignInBody().code("CODE-2"))
        #expect(try await other.signIn().status == 200)
        #expect(try await app.asUser(.delete, "/auth/token", second).status == 200)
        #expect(try await other.signIn().description.contains("signed out since"))
        #expect(app.carrier.tokenPosts == 2)
    }

    @Test(
        "starts no session if its user registered and signed out at the other instance",
        arguments: [true, false])
    func registeredElsewhere(isSignedOut: Bool) async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let app = try TestApp(store: TestStore(isShared: true), registration: rules)
        let other = try TestApp(beside: app, registration: rules)
        let handle = try #require(try await app.signIn().text("state_key"))
        let tokens = try #require(Tokens(try await other.post("/users", #"{"state_key":"\#(handle)"}"#)))
        if isSignedOut { #expect(try await other.asUser(.delete, "/auth/token", tokens.token).status == 200) }
        for _ in 0..<2 {
            let answer = try await app.signIn()
            #expect(answer.status == (isSignedOut ? 401 : 200))
            #expect(answer.error == (isSignedOut ? "invalid_grant" : nil))
        }
        #expect(app.carrier.tokenPosts == 1)
        #expect(try await app.signIn(SignInBody().code("CODE-2")).status == 200)
    }

    @Test("does not bring back an erased user")
    func erased() async throws {
        let (app, other) = try instances()
        #expect(try await app.asUser(.delete, "/users/me", try await app.token()).status == 200)
        let answer = try await other.signIn()
        #expect(answer.status == 401)
        #expect(answer.error == "invalid_grant")
        #expect(answer.description.contains("erased since"))
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("neither needs nor spends an issued nonce")
    func issuedNonce() async throws {
        let (app, other) = try instances(client: { $0.nonce = .issued })
        let nonce = try #require(try await app.send(.post, "/auth/zenkey/attempts").text("nonce"))
        app.carrier.script { $0.nonce = nonce }
        let body = SignInBody().with("nonce", "\"\(nonce)\"")
        #expect(try await app.signIn(body).status == 200)
        #expect(try await other.signIn(body).status == 200)
        #expect(try await other.signIn(body.code("CODE-2")).description.contains("nonce was not issued"))
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("is looked up once for two requests at the same time, and both get a session")
    func simultaneous() async throws {
        let (app, other) = try instances()
        _ = try await app.token()
        let gate = Gate()
        app.storeScript.hold(before: .recentSignIn, at: gate)
        async let first = other.token()
        await gate.untilWaiting()
        async let second = other.token()
        while other.useCases.signIn.waitingCount < 1 { await Task.yield() }
        gate.open()
        #expect(try await first != second)
        #expect(app.storeScript.count(of: .recentSignIn) == 2)
        #expect(app.carrier.tokenPosts == 1)
    }
}

/// The same sign-in under way at another instance, for an app that gave up waiting.
@Suite("The same sign-in under way at another instance")
struct EarlierSignInUnderWayTests {
    /// Two instances, and a carrier that accepts a code once. Each of two posts waits at its own gate.
    private struct Stage {
        let app: TestApp
        let other: TestApp
        let first = Gate()
        let second = Gate()

        init(client: @escaping (inout SignInConfiguration.Client) -> Void = { _ in }) throws {
            app = try TestApp(store: TestStore(isShared: true), client: client)
            other = try TestApp(beside: app, client: client)
            app.carrier.script { [carrier = app.carrier, first, second] script in
                script.token = { _ throws(OutboundError) in
                    guard carrier.tokenPosts > 1 else {
                        await first.pass()
                        return carrier.tokens()
                    }
                    await second.pass()
                    return .json(#"{"error":"invalid_grant"}"#, status: 400)
                }
            }
        }
    }

    @Test("starts a session if the other instance is done when the carrier refuses the used code")
    func doneMeanwhile() async throws {
        let stage = try Stage()
        async let first = stage.app.signIn()
        await stage.first.untilWaiting()
        async let second = stage.other.signIn()
        await stage.second.untilWaiting()
        stage.first.open()
        #expect(try await first.status == 200)
        stage.second.open()
        #expect(try await second.status == 200)
        #expect(stage.app.carrier.tokenPosts == 2)
        #expect(stage.other.log.signIns.last?.metadata["sent_before"] == "true")
        #expect(try await stage.other.signIn().status == 200)
        #expect(stage.app.carrier.tokenPosts == 2)
    }

    @Test("is refused while the other instance is at work, and starts a session when retried after that")
    func stillAtIt() async throws {
        let stage = try Stage()
        async let first = stage.app.signIn()
        await stage.first.untilWaiting()
        stage.second.open()
        for _ in 0..<2 { #expect(try await stage.other.signIn().error == "invalid_grant") }
        stage.first.open()
        #expect(try await first.status == 200)
        #expect(try await stage.other.signIn().status == 200)
        #expect(stage.app.carrier.tokenPosts == 2)
    }

    @Test("is unavailable while the store is, and posts nothing")
    func storeAway() async throws {
        let stage = try Stage()
        async let first = stage.app.signIn()
        await stage.first.untilWaiting()
        async let second = stage.other.signIn()
        await stage.second.untilWaiting()
        stage.first.open()
        #expect(try await first.status == 200)
        stage.app.storeScript.fail(.recentSignIn, with: StorageError(.unavailable, reason: "scripted"))
        stage.second.open()
        #expect(try await second.error == "temporarily_unavailable")
        #expect(try await stage.other.signIn().error == "temporarily_unavailable")
        #expect(try await stage.other.signIn(SignInBody().code("CODE-2")).error == "temporarily_unavailable")
        #expect(stage.app.carrier.tokenPosts == 2)
        stage.app.storeScript.fail(.recentSignIn, with: nil)
        #expect(try await stage.other.signIn().status == 200)
        #expect(stage.app.carrier.tokenPosts == 2)
    }

    @Test("starts a session if the other instance has taken the issued nonce")
    func nonceTaken() async throws {
        let stage = try Stage(client: { $0.nonce = .issued })
        let nonce = try #require(try await stage.app.send(.post, "/auth/zenkey/attempts").text("nonce"))
        let discovery = Gate()
        stage.app.carrier.script { $0.nonce = nonce }
        let body = SignInBody().with("nonce", "\"\(nonce)\"")
        async let first = stage.app.signIn(body)
        await stage.first.untilWaiting()
        // The second discovery takes until the first sign-in is done.
        stage.app.carrier.script { [carrier = stage.app.carrier] script in
            script.discovery = { _ throws(OutboundError) in
                await discovery.pass()
                return carrier.discovered()
            }
        }
        async let second = stage.other.signIn(body)
        defer { discovery.open() }
        await discovery.untilWaiting()
        stage.first.open()
        #expect(try await first.status == 200)
        discovery.open()
        #expect(try await second.status == 200)
        #expect(stage.app.carrier.tokenPosts == 1)
    }

    @Test("with an issued nonce is refused while the other instance is at work, and works afterwards")
    func nonceTakenAndStillAtIt() async throws {
        let stage = try Stage(client: { $0.nonce = .issued })
        let nonce = try #require(try await stage.app.send(.post, "/auth/zenkey/attempts").text("nonce"))
        stage.app.carrier.script { $0.nonce = nonce }
        let body = SignInBody().with("nonce", "\"\(nonce)\"")
        async let first = stage.app.signIn(body)
        await stage.first.untilWaiting()
        #expect(try await stage.other.signIn(body).error == "invalid_request")
        stage.first.open()
        #expect(try await first.status == 200)
        #expect(try await stage.other.signIn(body).status == 200)
        #expect(stage.app.carrier.tokenPosts == 1)
    }
}
