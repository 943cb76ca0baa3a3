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

    @Test("A redirect sign-in keeps its key and the required authentication, and one without is written as before")
    func redirect() throws {
        var start = RedirectStart(
            provider: ProviderReference(provider: "acme"), clientType: .web, redirectURI: "https://a.example/",
            callbackURL: "https://b.example/")
        start.purpose = .link(session: "s")
        var pending = PendingRedirect(
            start: start, clientID: try #require(ClientID("client-1")), correlationID: .random(from: .system),
            browserHash: nil)
        pending.leg = .authorization(
            network: nil, nonce: Secret("nonce-1"), codeVerifier: .random(from: .system))
        let plain = pending.bytes
        #expect(plain.last == 0, "sessionIDIsSession ends it, as an instance before DPoP expects")
        #expect(PendingRedirect(plain) != nil && PendingRedirect(plain)?.dpopKey == nil)
        let key = DPoPKey()
        pending.dpopKey = key
        let bytes = pending.bytes
        #expect(bytes.starts(with: plain) && bytes.count == plain.count + 34)
        #expect(PendingRedirect(bytes)?.dpopKey == key)
        #expect(PendingRedirect(Array(bytes.dropLast())) == nil)
        #expect(PendingRedirect(bytes + [0]) == nil)
        #expect(PendingRedirect(plain + [0]) == nil, "a key that is none")
        for key in [nil, key] {
            for (maximumAge, since) in [(300, nil), (nil, 1_800_000_000), (0, 1_800_000_000)] as [(Int64?, Int64?)] {
                pending.dpopKey = key
                pending.start.demand.maximumAge = maximumAge
                pending.start.demand.since = since.map { Timestamp(secondsSinceEpoch: $0) }
                let bytes = pending.bytes
                let read = try #require(PendingRedirect(bytes))
                #expect(read.start.demand.maximumAge == maximumAge && read.dpopKey == key)
                #expect(read.start.demand.since?.secondsSinceEpoch == since)
                #expect(PendingRedirect(bytes + [0]) == nil && PendingRedirect(Array(bytes.dropLast())) == nil)
            }
        }
        #expect(PendingRedirect(plain + [0, 0]) == nil, "neither a key nor a required authentication")
    }

    @Test("A task of a group keeps its id, and is no sign-in without it")
    func task() throws {
        var start = RedirectStart(
            provider: ProviderReference(provider: "number", operatorName: "northwind"), clientType: .ios,
            redirectURI: "com.example.app://cb",
            callbackURL: "https://b.example/")
        let id = Secret(RandomSource.system.token())
        start.purpose = .task(id: id)
        var pending = PendingRedirect(
            start: start, clientID: try #require(ClientID("client-1")), correlationID: .random(from: .system),
            browserHash: nil)
        pending.leg = .authorization(network: nil, nonce: Secret("nonce-1"), codeVerifier: .random(from: .system))
        for key in [nil, DPoPKey()] {
            pending.dpopKey = key
            let bytes = pending.bytes
            let read = try #require(PendingRedirect(bytes))
            #expect(read.start.purpose == .task(id: id) && read.dpopKey == key && read.start.demand.recency == nil)
            #expect(PendingRedirect(bytes + [0]) == nil && PendingRedirect(Array(bytes.dropLast())) == nil)
        }
    }
}
