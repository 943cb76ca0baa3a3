import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// What happens between a commit and the moment in which its session is put into the cache.
@Suite("A session that is not in the cache yet", .timeLimit(.minutes(1)))
struct SessionTicketTests {
    /// A way in which a session begins.
    struct Way: Sendable, CustomTestStringConvertible {
        /// A Latchkey that is ready, and the request that begins the session.
        struct Stage: Sendable {
            let app: TestApp
            let begin: @Sendable () async throws -> Answer
        }

        let testDescription: String
        /// The call of the store that commits it.
        let commit: StoreScript.Call
        let stage: @Sendable () async throws -> Stage
    }

    static let ways = [
        Way(testDescription: "a sign-in with a code", commit: .signIn) {
            let app = try TestApp()
            return Way.Stage(app: app) { try await app.signIn() }
        },
        Way(testDescription: "a repeated sign-in", commit: .addSession) {
            let app = try TestApp()
            _ = try await app.token()
            return Way.Stage(app: app) { try await app.signIn() }
        },
        Way(testDescription: "a registration", commit: .register) {
            var rules = TestRegistration()
            rules.isRequired = true
            let app = try TestApp(registration: rules)
            let handle = try #require(try await app.signIn().text("state_key"))
            return Way.Stage(app: app) { try await app.post("/users", #"{"state_key":"\#(handle)"}"#) }
        },
        Way(testDescription: "the end of a carrier's backchannel authentication", commit: .endBackchannelAuthentication)
        {
            let calls = try BackchannelCalls()
            let handle = try await calls.handle()
            _ = try await calls.notify()
            return Way.Stage(app: calls.app) { try await calls.poll(handle) }
        },
        Way(testDescription: "the end of one at an OpenID provider", commit: .endBackchannelAuthentication) {
            let calls = try ProviderBackchannelCalls()
            let handle = try await calls.handle()
            calls.answer(with: nil)
            return Way.Stage(app: calls.app) { try await calls.poll(handle, after: 6) }
        },
        Way(testDescription: "a refresh", commit: .rotate) {
            let app = try TestApp()
            let tokens = try await app.tokens()
            return Way.Stage(app: app) { try await app.refresh(tokens.refreshToken) }
        },
    ]

    @Test("does not come back from it if it was revoked after its commit", arguments: ways)
    func revoked(way: Way) async throws {
        let stage = try await way.stage()
        let app = stage.app
        let gate = Gate()
        defer { gate.open() }
        app.storeScript.hold(after: way.commit, at: gate)
        async let begun = stage.begin()
        await gate.untilWaiting()
        app.storeScript.hold(after: way.commit, at: nil)
        // As another process does, whose change the store announces.
        let user = UserID(1)
        for session in try await app.store.sessions(of: user, at: app.clock.now, limit: 10) {
            #expect(try await app.store.revokeSession(id: session.id, of: user, in: nil, recording: nil) == .revoked)
        }
        app.useCases.sessions.storeDidChange(.user(user))
        gate.open()
        let answer = try await begun
        let token = try #require(answer.text("token"), "\(answer.body)")
        #expect(try await app.me(token).status == 401)
    }

    @Test("has the profile as it was edited while it was refreshed")
    func edited() async throws {
        let app = try TestApp()
        let tokens = try await app.tokens()
        let gate = Gate()
        defer { gate.open() }
        app.storeScript.hold(after: .refreshToken, at: gate)
        async let refreshed = app.refresh(tokens.refreshToken)
        await gate.untilWaiting()
        app.storeScript.hold(after: .refreshToken, at: nil)
        #expect(try await app.patch(tokens.token, #"{"name":"Jane Roe"}"#).status == 200)
        gate.open()
        let new = try #require(Tokens(try await refreshed))
        #expect(try await app.me(new.token).text("name") == "Jane Roe")
    }
}
