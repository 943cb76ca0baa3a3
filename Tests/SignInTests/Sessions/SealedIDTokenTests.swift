import OpenIDConnect
import Primitives
import StorageModel
import Testing

@testable import SignIn

@Suite("A sealed ID token")
struct SealedIDTokenTests {
    private static let issuer = "https://login.example"
    private let hint = IDTokenHint(issuer: issuer, token: Secret("HEAD.claims.signature"))

    private func tokens(_ token: String, _ refreshToken: String) -> SessionTokens {
        SessionTokens(
            token: Secret(token), refreshToken: Secret(refreshToken), expiresIn: 3_600, refreshExpiresIn: 86_400)
    }

    private func random() -> SessionTokens {
        tokens(RandomSource.system.token(bytes: 36), RandomSource.system.token(bytes: 36))
    }

    private func presented(_ tokens: SessionTokens) throws -> PresentedRefreshToken {
        try #require(PresentedRefreshToken(tokens.refreshToken))
    }

    @Test("is opened by the tokens of its session, and by no others")
    func opened() throws {
        let (own, others) = (random(), random())
        let hint = try #require(hint)
        let sealed = try #require(SealedIDToken(hint, openedBy: own))
        #expect(sealed.hint(forSessionToken: own.token) == hint)
        #expect(sealed.hint(forRefreshToken: own.refreshToken) == hint)
        #expect(sealed.hint(forSessionToken: others.token) == nil)
        #expect(sealed.hint(forRefreshToken: others.refreshToken) == nil)
        // A refresh token opens nothing in place of the session token, and the other way round.
        #expect(sealed.hint(forSessionToken: own.refreshToken) == nil)
        let swapped = tokens(own.refreshToken.exposed, own.token.exposed)
        #expect(sealed.hint(forRefreshToken: swapped.refreshToken) == nil)
        #expect("\(hint)" == "‹redacted›")
    }

    @Test("is opened by nothing that the store has")
    func stored() throws {
        let own = random()
        let hint = try #require(hint)
        let sealed = try #require(SealedIDToken(hint, openedBy: own))
        let hashes = try presented(own).hashes
        for hash in [TokenHash(ofSessionToken: own.token.exposed), hashes.token, hashes.family] {
            for text in [hash.bytes.hexadecimal, Base64URL.encode(hash.bytes)] {
                #expect(sealed.hint(forSessionToken: Secret(text)) == nil)
                #expect(sealed.hint(forRefreshToken: Secret(text)) == nil)
            }
        }
        let bytes = sealed.content + sealed.sessionKey
        for part in ["HEAD", "claims", Self.issuer] { #expect(!bytes.contains(Array(part.utf8))) }
        let changed = SealedIDToken(content: sealed.content.map { $0 ^ 1 }, sessionKey: sealed.sessionKey)
        #expect(changed.hint(forSessionToken: own.token) == nil)
    }

    @Test("is opened by the tokens of each refresh, and not by a session token that was replaced")
    func refreshed() throws {
        var own = random()
        let hint = try #require(hint)
        var sealed = try #require(SealedIDToken(hint, openedBy: own))
        for round in 1...3 {
            let successor = SuccessorTokens(of: try presented(own), salt: RandomSource.system.bytes(38))
            let key = try #require(SealedIDToken.sessionKey(for: successor.token, of: try presented(own)))
            sealed = SealedIDToken(content: sealed.content, sessionKey: key)
            let next = tokens(successor.token, successor.refreshToken)
            #expect(sealed.hint(forSessionToken: next.token) == hint, "after \(round)")
            #expect(sealed.hint(forRefreshToken: next.refreshToken) == hint, "after \(round)")
            #expect(sealed.hint(forSessionToken: own.token) == nil)
            own = next
        }
    }

    @Test(
        "is made of an issuer and a token that a URL can have",
        arguments: [
            (issuer, String(repeating: "a", count: 8_191), true), (issuer, String(repeating: "a", count: 8_192), false),
            (issuer, "", false), (issuer, "HEAD.clai\u{E9}ms.signature", false), ("", "HEAD.claims.signature", false),
            ("https://op.example/\nx", "HEAD.claims.signature", false),
        ])
    func made(issuer: String, token: String, isMade: Bool) {
        #expect((IDTokenHint(issuer: issuer, token: Secret(token)) != nil) == isMade)
    }
}
