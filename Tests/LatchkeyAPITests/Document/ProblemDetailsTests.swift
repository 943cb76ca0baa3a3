import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import Testing

/// Errors as problem details (RFC 9457), for clients that accept them.
@Suite("A client that accepts problem details")
struct ProblemDetailsTests {
    private static let type = "application/problem+json"

    private func refusal(_ accepted: String?) async throws -> Answer {
        var headers: HTTPFields = [.contentType: "application/json"]
        headers[.accept] = accepted
        return try await TestApp().send(
            .post, "/auth/zenkey-signin", headers, body: SignInBody().with("code", nil).json)
    }

    @Test("gets the members of the RFC beside those of every error")
    func members() async throws {
        let plain = try await refusal(nil)
        let problem = try await refusal(Self.type)
        #expect(problem.status == plain.status)
        #expect(problem.headers[.contentType] == Self.type)
        #expect(problem.headers[.cacheControl] == "no-store")
        #expect(
            problem.json?.members.map(\.name)
                == ["type", "title", "status", "detail"] + (plain.json?.members.map(\.name) ?? []))
        #expect(problem.text("type") == "about:blank")
        #expect(problem.text("title") == "Bad Request")
        #expect(problem.integer("status") == 400)
        #expect(problem.description == "code is missing.")
        #expect(problem.text("detail") == problem.description)
        for name in ["error", "error_description", "message", "error_type", "correlation_id"] {
            #expect(problem.text(name) == plain.text(name), "\(name)")
        }
    }

    static let accepted: [(field: String, isProblem: Bool)] = [
        ("application/problem+json", true), ("Application/Problem+JSON", true),
        ("application/json, application/problem+json", true), ("application/problem+json;q=0.5, */*", true),
        ("text/html;level=1,application/problem+json ; q=0.001", true),
        ("application/problem+json;charset=utf-8", true),
        ("application/json", false), ("*/*", false), ("application/*", false), ("", false),
        ("application/problem+xml", false), ("application/problem+json;q=0", false),
        ("application/problem+json; Q=0.000, application/json", false), ("application/problem+jsonp", false),
        (",;,;;", false),
    ]

    @Test("names the type in Accept, with a weight above 0", arguments: accepted)
    func accepts(_ field: String, _ isProblem: Bool) async throws {
        let answer = try await refusal(field)
        #expect(answer.status == 400)
        #expect(answer.headers[.contentType] == (isProblem ? Self.type : "application/json; charset=utf-8"))
        #expect((answer.text("detail") != nil) == isProblem)
        #expect(answer.error == "invalid_request")
    }

    @Test("gets successes as usual")
    func success() async throws {
        let answer = try await TestApp().send(
            .post, "/auth/zenkey-signin", [.contentType: "application/json", .accept: Self.type],
            body: SignInBody().json)
        #expect(answer.status == 200)
        #expect(answer.headers[.contentType] == "application/json; charset=utf-8")
    }

    @Test("gets the offer of a registration")
    func offer() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let answer = try await TestApp(registration: rules).send(
            .post, "/auth/zenkey-signin", [.contentType: "application/json", .accept: Self.type],
            body: SignInBody().json)
        #expect(answer.status == 403)
        #expect(answer.headers[.contentType] == Self.type)
        #expect(answer.text("title") == "Forbidden")
        #expect(answer.text("state_key") != nil)
        #expect(answer.json?["zenkey_attributes"]?.object != nil)
    }

    static let refused: [(method: HTTPRequest.Method, path: String, status: Int)] = [
        (.get, "/nowhere", 404), (.delete, "/healthz", 405), (.get, "/users/me", 401),
        (.get, "/auth/zenkey/start", 400), (.get, "/auth/zenkey/callback", 400),
    ]

    @Test("gets them from every path, and no page", arguments: refused)
    func everywhere(_ method: HTTPRequest.Method, _ path: String, _ status: Int) async throws {
        let answer = try await TestApp().send(method, path, [.accept: Self.type])
        #expect(answer.status == status)
        #expect(answer.headers[.contentType] == Self.type)
        #expect(answer.integer("status") == Int64(status))
    }

    @Test("gets them for refusals before the handler, with the challenge of the error")
    func early() async throws {
        let app = try TestApp()
        let error = HTTPError(.uriTooLong, code: "uri_too_long", message: "The request line is too long.")
        let request = try Request(.get, "/", headers: [.accept: Self.type])
        let early = Answer(app.api.errorRenderer(error, request))
        #expect(early.headers[.contentType] == Self.type)
        #expect(early.text("title") == "URI Too Long")
        #expect(Answer(app.api.errorRenderer(error, nil)).headers[.contentType] == "application/json; charset=utf-8")
        let session = try await app.send(
            .get, "/users/me", [.accept: Self.type, .authorization: "Bearer none"])
        #expect(session.headers[.wwwAuthenticate] == #"Bearer error="invalid_token""#)
    }

    @Test("gets them when it is limited")
    func limited() async throws {
        var limits = RequestLimits()
        limits.requestsInProgress = 0
        let answer = try await TestApp(limits: limits).send(.get, "/users/me", [.accept: Self.type])
        #expect(answer.status == 503)
        #expect(answer.headers[.contentType] == Self.type)
        #expect(answer.headers[.retryAfter] != nil)
    }
}
