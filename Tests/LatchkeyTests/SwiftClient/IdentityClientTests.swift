import CarrierSimulator
import Foundation
import LatchkeyClient
import TestSupport
import Testing

/// Identities of the Swift client's user.
@Suite(.serialized) struct IdentityClientTests {
    private func response(_ walk: ProviderWalk, user: String? = nil) throws -> AuthorizedResponse {
        let fields = try walk.code(at: "acme", user: user)
        return AuthorizedResponse(
            code: try #require(fields["code"]), redirectURI: SignInHarness.redirectURI,
            codeVerifier: fields["code_verifier"], nonce: fields["nonce"])
    }

    @Test("A user links an identity, signs in with it, and unlinks it")
    func linked() async throws {
        try await ProviderWalk.with { walk in
            let latchkey = try walk.harness.client()
            _ = try await latchkey.signIn(with: try walk.harness.sdkResponse())
            let user = try await latchkey.me()
            let only = try #require(try await latchkey.identities().first)
            let last = try await failure { () async throws(LatchkeyError) in try await latchkey.unlinkIdentity(only.id)
            }
            #expect(last.code == .lastIdentity)

            let linked = try await latchkey.linkIdentity(with: try response(walk), at: "acme")
            #expect(linked.issuer == walk.harness.simulator.issuer(of: "acme"))
            #expect(abs(linked.createdAt.timeIntervalSinceNow) < 300)
            #expect(try await latchkey.linkIdentity(with: try response(walk), at: "acme") == linked)
            #expect(Set(try await latchkey.identities()) == [only, linked])

            var configuration = try walk.harness.clientConfiguration()
            configuration.provider = "acme"
            let other = Latchkey(configuration)
            #expect(try await other.signIn(with: try response(walk)).isNewUser == false)
            #expect(try await other.me().id == user.id)

            try await latchkey.unlinkIdentity(linked.id)
            #expect(try await latchkey.identities() == [only])
            #expect(try await failure { () async throws(LatchkeyError) in try await other.me() }.isSignedOut)
            #expect(try await latchkey.me().id == user.id)
        }
    }

    @Test("An identity of another user is refused, and the session remains")
    func taken() async throws {
        try await ProviderWalk.with { walk in
            _ = try #require(try await walk.token(at: "acme"))
            let latchkey = try walk.harness.client()
            _ = try await latchkey.signIn(with: try walk.harness.sdkResponse())
            let identity = try response(walk)
            let error = try await failure { () async throws(LatchkeyError) in
                try await latchkey.linkIdentity(with: identity, at: "acme")
            }
            #expect(error.code == .userAlreadyExists)
            #expect(try await latchkey.identities().count == 1)
        }
    }
}
