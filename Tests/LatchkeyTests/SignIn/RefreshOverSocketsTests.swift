import LatchkeyConfiguration
import Primitives
import SignIn
import Testing

/// Refreshing over real sockets, with a real database.
@Suite(.serialized) struct RefreshOverSocketsTests {
    @Test("Sixteen connections that refresh one token at once all end up signed in to one session")
    func concurrent() async throws {
        try await Stage.with { stage in
            let signedIn = try await stage.app.signIn(try stage.authorizedResponse())
            let old = try #require(signedIn.refreshToken)
            let answers = try await withThrowingTaskGroup(of: App.Answer.self) { group in
                for _ in 0..<16 { group.addTask { try await stage.app.refresh(old) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.status) == Array(repeating: 200, count: 16))
            #expect(Set(answers.compactMap(\.token)).count == 1)
            #expect(Set(answers.compactMap(\.refreshToken)).count == 1)
            for answer in answers { #expect(try await stage.app.me(try #require(answer.token)).status == 200) }
            #expect(try await stage.app.refresh(try #require(answers[0].refreshToken)).status == 200)
            // By now the first token is two exchanges old: whoever shows it ends the session for all.
            let reused = try await stage.app.refresh(old)
            #expect(reused.status == 401)
            #expect(reused.error == "invalid_grant")
            #expect(try await stage.app.me(try #require(answers[0].token)).status == 401)
        }
    }

    @Test("Times of one client are those of its sessions")
    func perClient() async throws {
        try await Stage.with(configure: { configuration in
            configuration.zenkey.clients[0].sessions.access = 77
        }) { stage in
            let signedIn = try await stage.app.signIn(try stage.authorizedResponse())
            #expect(signedIn.json["expires"]?.integer == 77)
            let refreshed = try await stage.app.refresh(try #require(signedIn.refreshToken))
            #expect(refreshed.json["expires"]?.integer == 77)
        }
    }
}
