import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// The requests that the guides for apps show: with the SDK's names, and without a client id.
@Suite("The guides' request")
struct GuideRequestTests {
    private static let onlyURI = "https://app.example/cb"
    private static let verifier = SignInBody.verifier

    private func app(
        _ redirectURIs: [String] = [onlyURI], otherClients: [String] = [], keys: [String: APIGrant] = [:]
    ) throws -> TestApp {
        let app = try TestApp(keys: keys, client: { $0.redirectURIs = redirectURIs }, otherClients: otherClients)
        app.carrier.script { $0.claims["context"] = "\"Pay 10 dollars\"" }
        return app
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        var type = "application/json"
        var network = "310410"

        init(_ what: String, _ body: String, type: String = "application/json", network: String = "310410") {
            testDescription = what
            self.body = body
            self.type = type
            self.network = network
        }
    }

    static let rows: [Row] = [
        Row(
            "the members of AuthorizedResponse",
            """
            {"code":"CODE-1","mccmnc":"310410","redirectURI":"\(onlyURI)","codeVerifier":"\(verifier)",
            "nonce":"NONCE-of-the-app","correlationId":"1B2C","context":"Pay 10 dollars"}
            """),
        Row(
            "the members of AuthorizedResponse, absent ones null",
            """
            {"code":"CODE-1","mccmnc":"310410","redirectURI":null,"codeVerifier":"\(verifier)",
            "nonce":null,"correlationId":null,"context":null,"clientId":null}
            """),
        Row(
            "the minimum", #"{"code":"CODE-1","mccmnc":"310410","codeVerifier":"\#(verifier)"}"#),
        Row(
            "the minimum under our names", #"{"code":"CODE-1","mccmnc":"310410","code_verifier":"\#(verifier)"}"#),
        Row(
            "mcc and mnc of the first SDK",
            #"{"code":"CODE-1","mcc":"310","mnc":"010","codeVerifier":"\#(verifier)"}"#, network: "310010"),
        Row(
            "mccmnc as a number", #"{"code":"CODE-1","mccmnc":310010,"codeVerifier":"\#(verifier)"}"#,
            network: "310010"),
        Row(
            "a form", "code=CODE-1&mcc=310&mnc=010&codeVerifier=\(verifier)",
            type: "application/x-www-form-urlencoded", network: "310010"),
    ]

    @Test("signs in with the only client and its only redirect URI", arguments: rows)
    func signsIn(_ row: Row) async throws {
        let app = try app()
        let answer = try await app.send(.post, "/auth/zenkey-signin", [.contentType: row.type], body: row.body)
        #expect(answer.status == 200, "\(answer.body)")
        let discovery = try #require(app.carrier.http.requests.first)
        #expect(discovery.url.text.contains("client_id=client-1&"))
        #expect(discovery.url.text.contains("mccmnc=\(row.network)"), "\(discovery.url.text)")
        let post = try #require(app.carrier.http.requests(to: FakeCarrier.tokenURL).first)
        #expect(String(decoding: post.body, as: UTF8.self).contains("redirect_uri=https%3A%2F%2Fapp.example%2Fcb"))
    }

    static let refused: [(what: String, redirectURIs: [String], otherClients: [String], says: [String])] = [
        ("several clients", [onlyURI], ["client-2"], ["client_id is missing", "several clients"]),
        ("several redirect URIs", [onlyURI, "com.example.app://cb"], [], ["redirect_uri is missing", "has several"]),
        ("no registered redirect URI", [], [], ["redirect_uri is missing"]),
    ]

    @Test("names the field that has no default", arguments: refused)
    func noDefault(
        _ row: (what: String, redirectURIs: [String], otherClients: [String], says: [String])
    ) async throws {
        let app = try app(row.redirectURIs, otherClients: row.otherClients)
        let answer = try await app.signIn(SignInBody().with("client_id", nil).with("redirect_uri", nil))
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        for text in row.says { #expect(answer.description.contains(text), "\(answer.description)") }
        #expect(app.carrier.http.requests.isEmpty)
    }

    @Test("uses the named client's own redirect URI, and names an unknown client")
    func namedClient() async throws {
        let app = try app(otherClients: ["client-2"])
        #expect(try await app.signIn(SignInBody().with("redirect_uri", nil)).status == 200)
        let unknown = try await app.signIn(SignInBody().with("client_id", "\"nobody\""))
        #expect(unknown.status == 400)
        #expect(unknown.description.contains("client_id is not one of"))
        let malformed = try await app.signIn(SignInBody().with("client_id", "7").with("redirect_uri", "7"))
        #expect(malformed.description.contains("client_id must be a string; redirect_uri must be a string"))
    }

    @Test("does not replace a redirect URI that is not registered")
    func foreignRedirectURI() async throws {
        let answer = try await app().signIn(SignInBody().with("redirect_uri", "\"https://evil.example/\""))
        #expect(answer.status == 400)
        #expect(answer.description.contains("redirect_uri is not one of"))
    }

    @Test("is refused to an API key of another client")
    func otherKey() async throws {
        let key = "KEY-for-another-client"
        let app = try app(keys: [key: APIGrant(clients: ["client-2"])])
        let answer = try await app.send(
            .post, "/auth/zenkey-signin", [.contentType: "application/json"], body: Self.rows[2].body, apiKey: key)
        #expect(answer.status == 400)
        #expect(answer.error == "unauthorized_client")
        #expect(app.carrier.tokenPosts == 0)
    }

    @Test("is the same request as the one that spells the defaults out")
    func retry() async throws {
        let app = try app()
        let body = SignInBody().with("client_id", nil).with("redirect_uri", nil)
        #expect(try await app.signIn(body).status == 200)
        #expect(try await app.signIn().status == 200)
        #expect(app.carrier.tokenPosts == 1)
    }
}
