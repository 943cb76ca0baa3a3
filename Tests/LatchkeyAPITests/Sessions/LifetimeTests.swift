import HTTPTypes
import OpenIDConnect
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import ProviderLogout
@testable import Redirects
@testable import SignIn

/// The end of each lifetime: accepted a second before, refused at it. The values are those that the documents state.
@Suite("A lifetime") struct LifetimeTests {
    /// What was made, and whether it is accepted at the time of its clock.
    struct Made: Sendable {
        let clock: ManualClock
        let isAccepted: @Sendable () async throws -> Bool
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// From this time on it is refused, in seconds.
        let end: Int64
        let make: @Sendable () async throws -> Made

        init(_ what: String, ends end: Int64, _ make: @escaping @Sendable () async throws -> Made) {
            testDescription = what
            self.end = end
            self.make = make
        }
    }

    private static let day: Int64 = 86_400

    // MARK: Sessions

    private static let ofSessions = [
        Row("a session token", ends: 3600) {
            let app = try TestApp()
            let token = try await app.token()
            return Made(clock: app.clock) { try await app.me(token).status == 200 }
        },
        Row("a session token that a refresh has replaced", ends: 30) {
            let app = try TestApp()
            let tokens = try await app.tokens()
            #expect(try await app.refresh(tokens.refreshToken).status == 200)
            return Made(clock: app.clock) { try await app.me(tokens.token).status == 200 }
        },
        Row("a refresh token of a session that is idle", ends: 14 * day) {
            let app = try TestApp()
            let tokens = try await app.tokens()
            return Made(clock: app.clock) { try await app.refresh(tokens.refreshToken).status == 200 }
        },
        Row("a refresh token, whatever the idle time-out is", ends: 30 * day) {
            let app = try TestApp(lifetimes: { $0.idle = 80 * day })
            let tokens = try await app.tokens()
            return Made(clock: app.clock) { try await app.refresh(tokens.refreshToken).status == 200 }
        },
        Row("a session that is refreshed", ends: 90 * day) {
            let app = try TestApp()
            var tokens = try await app.tokens()
            for _ in 0..<8 {
                app.clock.advance(bySeconds: 10 * day)
                tokens = try #require(Tokens(try await app.refresh(tokens.refreshToken)))
            }
            app.clock.advance(bySeconds: -80 * day)
            let last = tokens
            return Made(clock: app.clock) { try await app.refresh(last.refreshToken).status == 200 }
        },
        Row("a sign-in with which an identity can be added", ends: 901) {
            let app = try TestApp()
            let token = try await app.token()
            return Made(clock: app.clock) {
                let answer = try await app.send(
                    .post, "/users/me/identities",
                    [.authorization: "Bearer \(token)", .contentType: "application/json"],
                    body: SignInBody().code("CODE-2").with("provider", "\"zenkey\"").json)
                #expect(answer.status < 300 || answer.error == "insufficient_user_authentication", "\(answer.body)")
                return answer.status < 300
            }
        },
    ]

    // MARK: Sign-ins with a code

    private static let ofCodes = [
        // The cache keeps what is a minute old to the second.
        Row("an identical sign-in", ends: 61) {
            let app = try TestApp()
            _ = try await app.token()
            return Made(clock: app.clock) {
                _ = try await app.signIn()
                return app.carrier.tokenPosts == 1
            }
        },
        Row("an issued nonce", ends: 600) {
            let app = try TestApp(client: { $0.nonce = .issued })
            let nonce = try #require(try await app.post("/auth/zenkey/attempts", "{}").text("nonce"))
            app.carrier.script { $0.nonce = nonce }
            return Made(clock: app.clock) {
                try await app.signIn(SignInBody().with("nonce", "\"\(nonce)\"")).status == 200
            }
        },
        Row("a state_key", ends: 600) {
            var rules = TestRegistration()
            rules.isRequired = true
            let app = try TestApp(registration: rules)
            let handle = try #require(try await app.signIn().text("state_key"))
            return Made(clock: app.clock) {
                try await app.post("/users", #"{"state_key":"\#(handle)"}"#).status == 201
            }
        },
        Row("a receipt", ends: 300) {
            let app = try TestApp()
            let token = try await app.token()
            app.carrier.script {
                $0.claims = ["context": "\"CONTEXT\"", "auth_time": "\(app.clock.now.secondsSinceEpoch)"]
            }
            let body = SignInBody().code("CODE-t").with("acr_values", "\"a3\"").with("context", "\"CONTEXT\"")
            let authorized = try await app.send(
                .post, "/auth/zenkey/authorize",
                [.authorization: "Bearer \(token)", .contentType: "application/json"], body: body.json)
            let receipt = try #require(authorized.text("receipt"), "\(authorized.body)")
            return Made(clock: app.clock) {
                try await app.post("/auth/receipts/redeem", #"{"receipt":"\#(receipt)"}"#).status == 200
            }
        },
    ]

    // MARK: Redirects

    /// A parameter of the request that a browser is sent with.
    private static func value(_ name: String, of step: RedirectStep) throws -> String {
        guard case .goOn(let location, _, _) = step else {
            Issue.record("the browser is not sent on")
            return ""
        }
        let query = location.split(separator: "?").last?.split(separator: "&") ?? []
        return String(try #require(query.first { $0.hasPrefix(name + "=") }).dropFirst(name.count + 1))
    }

    /// A sign-in of an app that has begun, and the response of the carrier.
    private static func begun(_ app: TestApp) async throws -> AuthorizationResponse {
        var start = RedirectStart(
            provider: ProviderReference(provider: "zenkey"), clientType: .ios, redirectURI: "com.example.app://cb",
            callbackURL: "https://login.example/base/auth/zenkey/callback")
        start.network = MCCMNC("310410")
        let step = try await app.redirectSignIn.start(start, browser: nil)
        let nonce = try value("nonce", of: step)
        app.carrier.script { $0.nonce = nonce }
        var response = AuthorizationResponse(provider: "zenkey")
        response.state = Secret(try value("state", of: step))
        response.code = Secret("CODE-1")
        return response
    }

    private static let ofRedirects = [
        Row("a state", ends: 3600) {
            let app = try TestApp()
            let response = try await begun(app)
            return Made(clock: app.clock) {
                (try? await app.redirectSignIn.finish(response, browser: nil)) != nil
            }
        },
        Row("a session_id", ends: 120) {
            let app = try TestApp()
            let response = try await begun(app)
            let step = try await app.redirectSignIn.finish(response, browser: nil)
            guard case .finished(let end) = step, let sessionID = end.items.first(where: { $0.name == "session_id" })
            else {
                Issue.record("the sign-in has no session_id")
                return Made(clock: app.clock) { false }
            }
            return Made(clock: app.clock) {
                try await app.form("/auth/session", "session_id=\(sessionID.value)").status == 200
            }
        },
        Row("the state of a sign-out at a provider", ends: 600) {
            let app = try TestApp(client: { $0.redirectURIs = ["https://app.example/cb"] })
            let signOut = ProviderSignOut(
                environment: app.useCases.environment, store: app.testStore.store,
                oneTimeStore: app.useCases.oneTimeStore)
            let exit = try await signOut.exit(
                by: TestApp.provider, from: nil, to: "https://app.example/cb", requestID: "r")
            let location = await signOut.location(of: exit, returnURL: "https://login.example/logged-out")
            let state = try value("state", of: .goOn(to: location, withinSeconds: 0, browser: nil))
            return Made(clock: app.clock) {
                try await signOut.finish(at: TestApp.provider, state: Secret(state)) != nil
            }
        },
        Row("the confirmation of a number", ends: 120) {
            let walk = try await PhoneVerificationWalk(NumberApp())
            let (id, confirmation) = try await walk.open()
            return Made(clock: walk.app.clock) { try await walk.confirm(id, confirmation).status == 200 }
        },
        Row("a verification of a number that waits for its browser", ends: 3600) {
            let walk = try await PhoneVerificationWalk(NumberApp())
            let started = try await walk.start()
            return Made(clock: walk.app.clock) { try await walk.show(started.id).text("status") == "pending" }
        },
    ]

    // MARK: Backchannel authentications

    private static let ofBackchannel = [
        Row("a backchannel authentication", ends: 300) {
            let calls = try BackchannelCalls()
            let handle = try await calls.handle()
            return Made(clock: calls.app.clock) { try await calls.poll(handle).status == 200 }
        },
        Row("the record of one that has expired", ends: 900) {
            let calls = try BackchannelCalls()
            let handle = try await calls.handle()
            return Made(clock: calls.app.clock) { try await calls.poll(handle).status != 404 }
        },
        Row("the outcome of one", ends: 60) {
            let calls = try BackchannelCalls()
            let handle = try await calls.handle()
            _ = try await calls.notify()
            #expect(try await calls.poll(handle).status == 200)
            return Made(clock: calls.app.clock) { try await calls.poll(handle).status == 200 }
        },
    ]

    @Test("ends when it is said to", arguments: ofSessions + ofCodes + ofRedirects + ofBackchannel)
    func end(row: Row) async throws {
        for (seconds, isAccepted) in [(row.end - 1, true), (row.end, false)] {
            let made = try await row.make()
            made.clock.advance(bySeconds: seconds)
            #expect(try await made.isAccepted() == isAccepted, "after \(seconds) s")
        }
    }
}
