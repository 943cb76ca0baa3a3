import HTTPTypes
import LatchkeyAPI
import Primitives
import StorageModel
import TestSupport
import Testing

@testable import SignIn

/// A wall clock that is set forward or back by a day while users are signed in.
@Suite("A clock that jumps by a day")
struct ClockJumpTests {
    private static let day: Int64 = 86_400

    @Test("backwards ends no session, and lengthens none beyond its time")
    func backwards() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        app.clock.advance(bySeconds: -Self.day)
        #expect(try await app.me(old.token).status == 200)
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        #expect(try #require(Tokens(try await app.refresh(old.refreshToken))) == new)
        let later = try await app.tokens(SignInBody().code("CODE-2"))
        app.clock.advance(bySeconds: Self.day)
        // Their hour is over by the clock that is right again; the refresh tokens live on.
        for tokens in [new, later] {
            #expect(try await app.me(tokens.token).status == 401)
            #expect(try await app.refresh(tokens.refreshToken).status == 200)
        }
    }

    @Test("forwards ends no session for good, although expired rows are removed meanwhile")
    func forwards() async throws {
        let app = try TestApp()
        let (first, second) = (try await app.tokens(), try await app.tokens(SignInBody().code("CODE-2")))
        app.clock.advance(bySeconds: Self.day)
        #expect(try await app.me(first.token).status == 401)
        _ = try await app.store.purgeExpired(at: app.clock.now, limit: 1_000)
        let new = try #require(Tokens(try await app.refresh(first.refreshToken)))
        #expect(try await app.me(new.token).status == 200)
        app.clock.advance(bySeconds: -Self.day)
        #expect(try await app.me(new.token).status == 200)
        // Its hour is not over by the clock that is right again.
        #expect(try await app.me(second.token).status == 200)
        for tokens in [new, second] { #expect(try await app.refresh(tokens.refreshToken).status == 200) }
    }

    @Test("revives no session that was ended", arguments: [-day, day])
    func ended(seconds: Int64) async throws {
        let app = try TestApp()
        let (signedOut, stolen) = (try await app.tokens(), try await app.tokens(SignInBody().code("CODE-2")))
        #expect(try await app.asUser(.delete, "/auth/token", signedOut.token).status == 200)
        let next = try #require(Tokens(try await app.refresh(stolen.refreshToken)))
        #expect(try await app.refresh(next.refreshToken).status == 200)
        #expect(try await app.refresh(stolen.refreshToken).status == 401)
        app.clock.advance(bySeconds: seconds)
        for tokens in [signedOut, stolen, next] {
            #expect(try await app.me(tokens.token).status == 401)
            #expect(try await app.refresh(tokens.refreshToken).status == 401)
        }
    }

    @Test("changes no rate limit", arguments: [-day, day])
    func rateLimits(seconds: Int64) async throws {
        var limits = RequestLimits()
        limits.quotas[.perAddress] = RequestLimits.Quota(count: 2, seconds: 60)
        let app = try TestApp(limits: limits)
        func status() async throws -> Int { try await app.send(.get, "/", apiKey: nil, from: "192.0.2.7").status }
        for expected in [200, 200, 429] { #expect(try await status() == expected) }
        app.clock.advance(bySeconds: seconds)
        #expect(try await status() == 429)
        app.uptime.advance(by: .seconds(60))
        #expect(try await status() == 200)
    }
}
