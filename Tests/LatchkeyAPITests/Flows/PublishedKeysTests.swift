import Crypto
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// `GET /.well-known/jwks.json`: the keys of receipts, and those of clients.
@Suite("Published keys")
struct PublishedKeysTests {
    private static let path = "/.well-known/jwks.json"
    private static let members: Set<String> = ["kty", "crv", "x", "y", "use", "alg", "kid"]
    private let app: TestApp

    init() throws { app = try TestApp() }

    private static func key(_ id: String? = nil) throws -> ClientKey {
        let key = try ClientKey(parsing: Secret(P256.Signing.PrivateKey().pemRepresentation))
        return id.map(key.named) ?? key
    }

    private func keys(_ answer: Answer) -> [JSONObject] {
        answer.json?["keys"]?.array?.compactMap(\.object) ?? []
    }

    @Test(
        "The keys of clients come after those of receipts, with public members only, under the kid that they sign with")
    func members() async throws {
        let ours = [try Self.key("k-1"), try Self.key()]
        app.api.publish(ours)
        let answer = try await app.send(.get, Self.path, apiKey: nil)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/jwk-set+json")
        #expect(answer.headers[.cacheControl] == "public, max-age=3600")
        let keys = keys(answer)
        #expect(keys.count == 3)
        for key in keys { #expect(Set(key.members.map(\.name)) == Self.members) }
        let receipts = try await app.useCases.signingKeys.published()
        #expect(keys.map { $0["kid"]?.string } == receipts.map(\.id) + ours.map(\.keyID))
        #expect(Set(answer.json?.members.map(\.name) ?? []) == ["keys"])
    }

    @Test("A provider that has the set is told so, until the set changes")
    func conditional() async throws {
        app.api.publish([try Self.key()])
        let tag = try #require(try await app.send(.get, Self.path, apiKey: nil).headers[.eTag])
        let same = try await app.send(.get, Self.path, [.ifNoneMatch: tag], apiKey: nil)
        #expect(same.status == 304)
        #expect(same.body.isEmpty)
        #expect(same.headers[.eTag] == tag)
        #expect(same.headers[.cacheControl] == "public, max-age=3600")
        app.api.publish([try Self.key()])
        let other = try await app.send(.get, Self.path, [.ifNoneMatch: tag], apiKey: nil)
        #expect(other.status == 200)
        #expect(other.headers[.eTag] != tag)
    }

    @Test("The key of a signed secret is not published; a key that signs nothing is")
    func published() throws {
        let (own, other) = (try Self.key(), try Self.key())
        let id = try #require(ClientID("a"))
        for (authentication, expected) in [
            (ClientAuthentication.privateKeyJWT(own), [own, other]), (.clientSecretBasic(Secret("s")), [own, other]),
            (.signedClientSecret(own, issuer: "team", audience: "https://vendor.example"), []),
        ] {
            var client = SignInConfiguration.Client(id: id, authentication: authentication)
            client.signingKey = own
            client.otherKey = other
            #expect(client.publishedKeys == expected)
        }
    }
}
