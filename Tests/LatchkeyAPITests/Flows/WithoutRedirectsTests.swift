import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing
import Zephr

@testable import PhoneVerification

/// A server without the feature of redirects: apps bring codes, and no browser is sent away.
@Suite("Without redirects")
struct WithoutRedirectsTests {
    private let app: TestApp
    private let handler: Handler

    init() throws {
        app = try TestApp()
        let store = app.testStore.store
        let api = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([(TokenHash(sha256Of: TestApp.apiKey), APIGrant())]),
            baseURL: BaseURL("https://login.example/base"),
            features: try TestApp.features(over: store) + [
                PhoneVerificationFeature(
                    PhoneVerificationSettings(), in: .test(store, clock: app.clock.wallClock)),
                ZephrFeature(),
            ], logger: app.log.logger)
        handler = api.handler()
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ headers: [String: String] = [:], body: String = ""
    ) async throws -> Answer {
        var fields: HTTPFields = [.contentType: "application/json"]
        for (name, value) in headers { fields[try #require(HTTPField.Name(name))] = value }
        return Answer(try await handler(Request(method, path, headers: fields, body: Array(body.utf8))))
    }

    @Test(
        "Its paths are unknown, also those of other features",
        arguments: [
            "/auth/providers", "/sign-in", "/auth/bank/start", "/auth/bank/callback", "/zephr/oauth/bank",
            "/zephr/oauth/bank/web/callback",
        ])
    func paths(_ path: String) async throws {
        let answer = try await send(.get, path)
        #expect(answer.status == 404 && answer.error == "not_found")
    }

    @Test("The document of the API has the calls of other features, but for those that need redirects")
    func document() async throws {
        let answer = try await send(.get, "/openapi.json")
        #expect(answer.body.contains(#""/users/me/identities""#))
        #expect(!answer.body.contains(#""/auth/{provider}/link""#))
    }

    @Test("A sign-in with a code works, and a number is not verified by redirects")
    func verification() async throws {
        let key = ["X-API-KEY": TestApp.apiKey]
        let signedIn = try await send(.post, "/auth/zenkey-signin", key, body: SignInBody().json)
        #expect(signedIn.status == 200)
        let token = try #require(signedIn.text("token"))
        let answer = try await send(
            .post, "/users/me/phone/verifications", key.merging(["Authorization": "Bearer \(token)"]) { $1 },
            body: #"{"phone_number": "+12025550123", "redirect_uri": "com.example.app://cb"}"#)
        #expect(answer.status == 400 && answer.error == "invalid_request")
        #expect(answer.description.contains("operator_token"))
    }

    @Test("A page of an error has no link to a sign-in page")
    func failure() async throws {
        let answer = try await send(.get, "/register", ["Accept": "text/html"])
        #expect(answer.status == 401 && answer.body.contains("Reference:"))
        #expect(!answer.body.contains("sign-in page"))
    }
}
