import OpenIDConnect
import Primitives
import Testing

@testable import SignIn

/// The keys that tokens are bound to (RFC 9449), as they are kept.
@Suite("Tokens bound to a key")
struct BoundTokenTests {
    private func tokens(_ members: String) throws -> ProviderTokens {
        let object = try #require(JSONValue(parsing: Array(#"{"access_token":"a"\#(members)}"#.utf8)).object)
        return try #require(ProviderTokens(object))
    }

    private func json(_ tokens: ProviderTokens) -> String {
        var json = JSONObjectWriter()
        tokens.write(to: &json)
        return String(decoding: json.finish(), as: UTF8.self)
    }

    @Test("Stored tokens keep their keys, and those of an earlier version have none")
    func stored() throws {
        let (access, refresh) = (DPoPKey(), DPoPKey())
        let bound = try tokens(
            #","access_token_key":"\#(access.secret.exposed)","refresh_token":"r","refresh_token_key":"# + "\""
                + refresh.secret.exposed + "\"")
        #expect(bound.accessTokenKey == access && bound.refreshTokenKey == refresh)
        let object = try #require(JSONValue(parsing: Array(json(bound).utf8)).object)
        #expect(ProviderTokens(object) == bound)
        let former = try tokens(#","refresh_token":"r""#)
        #expect(former.accessTokenKey == nil && former.refreshTokenKey == nil)
        #expect(!json(former).contains("key"))
    }

    @Test("A refresh token of an earlier sign-in keeps its own key")
    func earlier() throws {
        let (earlier, later) = (DPoPKey(), DPoPKey())
        var first = try tokens(#","refresh_token":"r-1""#)
        first.refreshTokenKey = earlier
        var second = try tokens("")
        (second.accessTokenKey, second.refreshTokenKey) = (later, later)
        let kept = second.withRefreshToken(of: first)
        #expect(kept.refreshToken == first.refreshToken && kept.refreshTokenKey == earlier)
        #expect(kept.accessTokenKey == later)
    }
}
