import HTTPTypes
import LatchkeyConfiguration
import Primitives
import SignIn
import TestSupport
import Testing

@testable import Redirects

/// What an API key that is restricted to clients may do at mobile operators.
@Suite("At mobile operators, an API key for another client")
struct NumberCallerTests {
    /// The key of an app that southwind knows as `shop`, and northwind does not know.
    private static let key = "KEY-of-the-shop"
    /// A key for none of the operators.
    private static let strange = "KEY-of-a-stranger"

    private static func app(telcoFinder: Bool = false) throws -> NumberApp {
        let app = try NumberApp(
            keys: [key: APIGrant(clients: ["shop"]), strange: APIGrant(clients: ["elsewhere"])],
            southwindClient: "shop", telcoFinder: telcoFinder ? { _ in } : nil)
        app.southwind.script { $0.claims["aud"] = "\"shop\"" }
        return app
    }

    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let method: HTTPRequest.Method
        let path: String
        /// The JSON members that name the operator, or the query.
        let members: @Sendable (_ operator: String) -> String
        /// Whether it is sent with a session.
        var isSignedIn = false
    }

    static let calls = [
        Call(
            testDescription: "sign-in with an operator token", method: .post, path: "/auth/number/sign-in",
            members: { #""operator_token":"TS43","operator":"\#($0)""# }),
        Call(
            testDescription: "start of an app", method: .post, path: "/auth/number/start",
            members: { #""client_type":"ios","redirect_uri":"\#(NumberApp.redirectURI)","operator":"\#($0)""# }),
        Call(
            testDescription: "start of a browser", method: .get, path: "/auth/number/start",
            members: { "client_type=ios&redirect_uri=com.example.app%3A%2F%2Fcb&operator=\($0)" }),
        Call(
            testDescription: "verification with an operator token", method: .post,
            path: "/users/me/phone/verifications",
            members: { #""operator_token":"TS43","operator":"\#($0)","phone_number":"+14155550101""# },
            isSignedIn: true),
        Call(
            testDescription: "verification by redirects", method: .post, path: "/users/me/phone/verifications",
            members: {
                #""redirect_uri":"\#(NumberApp.redirectURI)","operator":"\#($0)","phone_number":"+14155550101""#
            }, isSignedIn: true),
        Call(
            testDescription: "link of a number", method: .post, path: "/users/me/identities",
            members: { #""provider":"number","operator_token":"TS43-2","operator":"\#($0)""# }, isSignedIn: true),
    ]

    private func send(
        _ call: Call, _ fake: FakeOperator, _ app: NumberApp, _ token: String?, key: String = key
    ) async throws -> Answer {
        let members = call.members(fake.name)
        var headers: HTTPFields = [.accept: "application/json"]
        if let token, call.isSignedIn { headers[.authorization] = "Bearer \(token)" }
        guard call.method == .post else {
            return try await app.send(.get, call.path + "?" + members, headers, apiKey: key)
        }
        return try await app.send(.post, call.path, headers, body: "{" + members + "}", apiKey: key)
    }

    @Test("is refused as at a sign-in, and the operator is not asked", arguments: calls)
    func refused(_ call: Call) async throws {
        let app = try Self.app()
        let token = try await app.token(at: app.southwind)
        let before = app.http.requests.count
        let answer = try await send(call, app.northwind, app, token)
        #expect(answer.status == 400 && answer.error == "unauthorized_client", "\(answer.body)")
        #expect(app.http.requests.count == before)
        #expect(app.redirectSignIn.pendingStarts.count == 0)
        let own = try await send(call, app.southwind, app, token)
        #expect((200...201).contains(own.status), "\(own.body)")
    }

    @Test("does not make Telco Finder look a number up, unless the provider has an operator for its client")
    func lookUp() async throws {
        let app = try Self.app(telcoFinder: true)
        func start(_ key: String) async throws -> Answer {
            let fields = #""client_type":"ios","redirect_uri":"\#(NumberApp.redirectURI)""#
            return try await app.send(
                .post, "/auth/number/start", body: "{" + fields + #","phone_number":"+14155550101"}"#, apiKey: key)
        }
        #expect(try await start(Self.strange).error == "unauthorized_client")
        #expect(app.count(app.finder.searchURL) == 0)
        #expect(try await start(Self.key).error == "unauthorized_client", "the number is northwind's")
        #expect(app.count(app.finder.searchURL) == 1)
        app.finder.script { $0.owner = "southwind" }
        #expect(try await start(Self.key).status == 200)
    }
}
