import Primitives
import SignIn
import TestSupport
import Testing

/// When sessions expire: access 1 h, refresh token 30 d, idle 14 d, absolute 90 d unless configured.
@Suite("The lifetime of a session")
struct SessionLifetimeTests {
    private static let day: Int64 = 86_400

    /// Refreshes every so many seconds; returns how often it got new tokens.
    private func refreshes(every seconds: Int64, upTo count: Int, _ app: TestApp) async throws -> Int {
        var token = try await app.tokens().refreshToken
        for number in 0..<count {
            app.clock.advance(bySeconds: seconds)
            guard let tokens = Tokens(try await app.refresh(token)) else { return number }
            token = tokens.refreshToken
        }
        return count
    }

    static let rows: [(name: String, every: Int64, answered: Int)] = [
        ("a second before the idle time-out", 14 * day - 1, 6),
        ("at the idle time-out", 14 * day, 0),
        ("daily, until the absolute time-out", day, 89),
    ]

    @Test("follows the defaults without configuration", arguments: rows)
    func standard(_ row: (name: String, every: Int64, answered: Int)) async throws {
        #expect(try await refreshes(every: row.every, upTo: 100, TestApp()) == row.answered, "\(row.name)")
    }

    @Test("follows the configuration for all clients, and for one")
    func configured() async throws {
        for isOwn in [false, true] {
            let app = try TestApp(
                client: { client in
                    guard isOwn else { return }
                    client.sessions.access = 100
                    client.sessions.refresh = 500
                    client.sessions.idle = 1000
                    client.sessions.absolute = 1600
                },
                lifetimes: { lifetimes in
                    guard !isOwn else { return }
                    lifetimes.access = 100
                    lifetimes.refresh = 500
                    lifetimes.idle = 1000
                    lifetimes.absolute = 1600
                })
            #expect(try await app.signIn().integer("expires") == 100)
            #expect(try await refreshes(every: 500, upTo: 10, app) == 0)
            #expect(try await refreshes(every: 499, upTo: 10, app) == 3)
        }
    }

    @Test("limits the lifetime of its session tokens")
    func capped() async throws {
        let app = try TestApp(lifetimes: { lifetimes in
            lifetimes.access = 1000
            lifetimes.absolute = 1500
        })
        let old = try await app.tokens()
        app.clock.advance(bySeconds: 900)
        let answer = try await app.refresh(old.refreshToken)
        #expect(answer.integer("expires") == 600)
        let new = try #require(Tokens(answer))
        app.clock.advance(bySeconds: 599)
        #expect(try await app.me(new.token).status == 200)
        app.clock.advance(bySeconds: 1)
        #expect(try await app.me(new.token).status == 401)
        #expect(try await app.refresh(new.refreshToken).status == 401)
    }
}
