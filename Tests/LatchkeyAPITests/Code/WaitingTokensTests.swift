import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Testing

@testable import Registration

@Suite("An ID token that is kept for logout")
struct WaitingTokensTests {
    private let issuer = "https://login.example"

    @Test("waits for a registration with the tokens to store, or alone")
    func waiting() throws {
        let hint = IDTokenHint(issuer: issuer, token: Secret("HEAD.claims.signature"))
        let identity = Identity(issuer: issuer, subject: "jane")
        #expect(WaitingTokens.bytes(of: VerifiedSignIn(identity, UserInfo()), from: "acme") == nil)
        let json = #"{"provider":"acme","id_token_issuer":"\#(issuer)","id_token":"HEAD.claims.signature"}"#
        let alone = try #require(WaitingTokens.read(Array(json.utf8)))
        #expect(alone.idToken == hint && alone.tokens == nil)
        let signIn = VerifiedSignIn(identity, UserInfo(), idToken: hint)
        #expect(WaitingTokens.bytes(of: signIn, from: "acme") == Array(json.utf8))
        let both = try #require(
            WaitingTokens.read(Array((#"{"access_token":"a","# + json.dropFirst()).utf8)))
        #expect(both.idToken == hint && both.tokens?.accessToken.exposed == "a")
        // As an earlier version wrote it.
        let former = try #require(WaitingTokens.read(Array(#"{"provider":"acme","access_token":"a"}"#.utf8)))
        #expect(former.idToken == nil && former.tokens != nil)
        #expect(WaitingTokens.read(Array(#"{"provider":"acme"}"#.utf8)) == nil)
    }
}
