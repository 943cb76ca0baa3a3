import LatchkeyConfiguration
import Primitives
import SignIn
import Testing

/// Refreshing over real sockets, with a real database.
@Suite(.serialized) struct RefreshOverSocketsTests {
    @Test("Sixteen concurrent refreshes of one token all get the same session")
    func concurrent() async throws {
        try await SignInHarness.with { harness in
            let signedIn = try await harness.app.signIn(try harness.authorizedResponse())
            let old = try #require(signedIn.refreshToken)
            let answers = try await withThrowingTaskGroup(of: App.Answer.self) { group in
                for _ in 0..<16 { group.addTask { try await harness.app.refresh(old) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.status) == Array(repeating: 200, count: 16))
            #expect(Set(answers.compactMap(\.token)).count == 1)
            #expect(Set(answers.compactMap(\.refreshToken)).count == 1)
            for answer in answers { #expect(try await harness.app.me(try #require(answer.token)).status == 200) }
            #expect(try await harness.app.refresh(try #require(answers[0].refreshToken)).status == 200)
            // The first token is now two refreshes old: its reuse ends the session.
            let reused = try await harness.app.refresh(old)
            #expect(reused.status == 401)
            #expect(reused.error == "invalid_grant")
            #expect(try await harness.app.me(try #require(answers[0].token)).status == 401)
        }
    }

    @Test("A client's own lifetimes apply to its sessions")
    func perClient() async throws {
        try await SignInHarness.with(configure: { configuration in
            configuration.zenkey.clients[0].sessions.access = 77
        }) { harness in
            let signedIn = try await harness.app.signIn(try harness.authorizedResponse())
            #expect(signedIn.json["expires"]?.integer == 77)
            let refreshed = try await harness.app.refresh(try #require(signedIn.refreshToken))
            #expect(refreshed.json["expires"]?.integer == 77)
        }
    }
}
