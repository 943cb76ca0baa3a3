import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing

/// The limits of a phone number: what counts, and for whom.
@Suite("The quota of a number")
struct NumberQuotaTests {
    private static let number = #""phone_number":"+14155550101","operator":"northwind""#

    /// Sessions of users who try to verify the same number.
    private func users(_ app: NumberApp, _ count: Int) async throws -> [PhoneVerificationWalk] {
        var walks: [PhoneVerificationWalk] = []
        for index in 0..<count { walks.append(try await PhoneVerificationWalk(app, subject: "SUBJECT-\(index)")) }
        return walks
    }

    private func verify(_ walk: PhoneVerificationWalk, token: String? = nil) async throws -> Answer {
        let token = token ?? RandomSource.system.token(bytes: 12)
        return try await walk.post(#""operator_token":"\#(token)","# + Self.number)
    }

    @Test("One user may verify it half as often as all")
    func half() async throws {
        let app = try NumberApp()
        let users = try await users(app, 3)
        for _ in 0..<5 { #expect(try await verify(users[0]).status == 200) }
        let refused = try await verify(users[0])
        #expect(refused.status == 429 && refused.headers[.retryAfter] != nil, "\(refused.body)")
        for _ in 0..<5 { #expect(try await verify(users[1]).status == 200) }
        #expect(try await verify(users[2]).status == 429, "all together")
        #expect(app.count(app.northwind.verifyURL) == 10)
    }

    @Test("Both ways of a verification are counted together, by redirects when the browser is back")
    func bothWays() async throws {
        let app = try NumberApp()
        let users = try await users(app, 1)
        var started: [PhoneVerificationWalk.Started] = []
        for _ in 0..<4 { started.append(try await users[0].start(Self.number)) }
        for _ in 0..<3 { #expect(try await verify(users[0]).status == 200) }
        for (index, one) in started.enumerated() {
            let back = try await users[0].open(one)
            let answer = try await users[0].confirm(one.id, try #require(back["confirmation"]))
            #expect(answer.text("error") == (index < 2 ? nil : "rate_limited"), "\(answer.body)")
        }
        #expect(app.count(app.northwind.verifyURL) == 5)
        let more = try await users[0].post(#""redirect_uri":"com.example.app://cb","# + Self.number)
        #expect(more.status == 429, "no browser is sent away in vain: \(more.body)")
    }

    @Test("What does not come to the operator does not count")
    func uncounted() async throws {
        let app = try NumberApp()
        let users = try await users(app, 5)
        // Browsers that never come back, and requests that are refused.
        for user in users.prefix(3) { for _ in 0..<4 { _ = try await user.start(Self.number) } }
        #expect(try await verify(users[3], token: "TS43").status == 200)
        for _ in 0..<5 { #expect(try await verify(users[3], token: "TS43").error == "invalid_grant") }
        let unusable = try await PhoneVerificationWalk(NumberApp())
        unusable.app.northwind.script { $0.metadata = ["issuer": "\"https://other.example\""] }
        for _ in 0..<3 { #expect(try await verify(unusable).status >= 500) }
        unusable.app.northwind.script { $0.metadata = [:] }
        unusable.app.clock.advance(bySeconds: 300)
        for _ in 0..<5 { #expect(try await verify(unusable).status == 200) }
        // The owner has the rest of a user's half.
        for _ in 0..<5 { #expect(try await verify(users[4]).status == 200) }
        #expect(app.count(app.northwind.verifyURL) == 6)
    }

    // MARK: Telco Finder

    private func start(
        _ app: NumberApp, key: String? = TestApp.apiKey, from peer: String = "127.0.0.1"
    ) async throws -> Answer {
        let fields = #""client_type":"ios","redirect_uri":"\#(NumberApp.redirectURI)","phone_number":"+14155550101""#
        return try await app.send(.post, "/auth/number/start", body: "{\(fields)}", apiKey: key, from: peer)
    }

    @Test("One caller may have it looked up half as often as all: another key, or another address, is another caller")
    func lookUps() async throws {
        for other in [("KEY-of-another", "127.0.0.1"), (TestApp.apiKey, "192.0.2.7")] {
            let app = try NumberApp(keys: ["KEY-of-another": APIGrant()], telcoFinder: { _ in })
            for _ in 0..<5 { #expect(try await start(app).status == 200) }
            for _ in 0..<3 {
                let refused = try await start(app)
                #expect(refused.status == 429 && refused.headers[.retryAfter] == "720", "\(refused.body)")
            }
            for _ in 0..<5 { #expect(try await start(app, key: other.0, from: other.1).status == 200) }
            #expect(try await start(app, key: "KEY-of-another", from: "198.51.100.1").status == 429, "all together")
            #expect(app.count(app.finder.searchURL) == 10)
        }
    }

    @Test("Answers that are kept, and a Telco Finder that cannot be asked, do not count")
    func keptAnswers() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.metadata = ["issuer": "\"https://other.example\""] }
        for _ in 0..<6 { #expect(try await start(app).status >= 500) }
        app.finder.script { ($0.metadata, $0.finderCacheControl) = ([:], "max-age=600") }
        app.clock.advance(bySeconds: 300)
        for _ in 0..<20 { #expect(try await start(app).status == 200) }
        #expect(app.count(app.finder.searchURL) == 1)
        app.clock.advance(bySeconds: 800)
        app.finder.script { $0.finderCacheControl = nil }
        for _ in 0..<5 { #expect(try await start(app).status == 200) }
        #expect(try await start(app).status == 429)
    }

    @Test("A user's verifications have it looked up half as often as all, too")
    func lookUpsOfUsers() async throws {
        let app = try NumberApp(telcoFinder: { $0.ifOtherOperator = .off })
        let users = try await users(app, 2)
        func ask(_ walk: PhoneVerificationWalk) async throws -> Answer {
            try await walk.post(#""redirect_uri":"com.example.app://cb","phone_number":"+14155550101""#)
        }
        for _ in 0..<5 { #expect(try await ask(users[0]).status == 201) }
        #expect(try await ask(users[0]).status == 429)
        for _ in 0..<5 { #expect(try await ask(users[1]).status == 201) }
        #expect(app.count(app.finder.searchURL) == 10)
    }
}
