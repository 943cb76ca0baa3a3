import HTTPServer
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Testing

@testable import Redirects

/// A redirect sign-in under way, as it is kept, and its end.
@Suite("A pending redirect")
struct PendingRedirectTests {
    @Test("The longest signed response fits into a form")
    func signedResponse() throws {
        for (count, isRead) in [(24_000, true), (24_001, false)] {
            let form = Array("response=\(String(repeating: "a", count: count))".utf8)
            #expect(form.count <= 24 << 10)
            let query = try #require(Query(form))
            #expect(((try? AuthorizationResponse(query, provider: "acme"))?.signed != nil) == isRead)
        }
    }

    @Test("A redirect sign-in keeps its key and the required authentication, and one without is written as before")
    func redirect() throws {
        var start = RedirectStart(
            provider: ProviderReference(provider: "acme"), clientType: .web, redirectURI: "https://a.example/",
            callbackURL: "https://b.example/")
        start.purpose = .errand(session: "s")
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

    @Test("ends with a failure of the store as one that cannot be sent again", arguments: StorageError.Code.allCases)
    func failureOfStore(_ code: StorageError.Code) throws {
        var pending = PendingRedirect(
            start: RedirectStart(
                provider: ProviderReference(provider: "acme"), clientType: .web, redirectURI: "https://a.example/",
                callbackURL: "https://b.example/"), clientID: try #require(ClientID("client-1")),
            correlationID: .random(from: .system), browserHash: nil)
        pending.leg = .carrierChoice
        let error = SignInError(StorageError(code, reason: "scripted"))
        guard case .failed(let shown) = pending.end(.failed(error), []).result else {
            Issue.record("the end is no failure")
            return
        }
        #expect(shown.description.hasSuffix(". Start a new sign-in in a moment."))
    }
}
