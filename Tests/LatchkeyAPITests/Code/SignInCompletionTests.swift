import OpenIDConnect
import Primitives
import StorageModel
import Testing

@testable import SignIn

@Suite("What every sign-in ends with")
struct SignInCompletionTests {
    @Test("The users who lose a verified number to this one are read again")
    func formerHolders() async throws {
        let app = try TestApp()
        let sessions = app.useCases.sessions
        let completion = app.useCases.completion
        let token = Secret(try await app.token(SignInBody()))
        let holder = try #require(try await sessions.authenticate(token))
        let misses = sessions.statistics.cacheMisses
        _ = try await sessions.authenticate(token)
        #expect(sessions.statistics.cacheMisses == misses)
        let (started, _) = completion.begin(
            VerifiedSignIn(Identity(issuer: "https://issuer.example", subject: "jane"), nil), of: "zenkey",
            for: "client-1", asking: ["openid"], .random(from: .system)
        ) { _ in }
        var signedIn = SignedInUser(user: holder.user, isNew: false)
        signedIn.formerHolders = [holder.user.id]
        let ended = completion.end(started, by: signedIn, .random(from: .system))
        #expect(ended.userID == holder.user.id && !ended.isNew)
        _ = try await sessions.authenticate(token)
        #expect(sessions.statistics.cacheMisses == misses + 1)
    }
}
