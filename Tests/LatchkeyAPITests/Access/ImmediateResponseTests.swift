import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import TestSupport
import Testing

/// Which requests need a task, and that the limit of requests in progress counts all alike.
@Suite("A request is responded to without a task")
struct ImmediateResponseTests {
    /// A request, and whether it is responded to at once, with which status.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method = HTTPRequest.Method.get
        var path = "/users/me"
        /// Whether it names a trace.
        var isTraced = false
        var apiKey: String? = TestApp.apiKey
        var hasSession = true
        var body = ""
        /// Six seconds after the last look-up.
        var isLate = false
        var needsTask = false
        let status: HTTPResponse.Status
    }

    static let rows: [Row] = [
        Row(testDescription: "for a session in memory", status: .ok),
        Row(
            testDescription: "not for a session that the store must be asked for", isLate: true, needsTask: true,
            status: .ok),
        Row(testDescription: "not in a trace", isTraced: true, needsTask: true, status: .ok),
        Row(testDescription: "if it has no API key", apiKey: nil, status: .unauthorized),
        Row(testDescription: "if it has no session", hasSession: false, status: .unauthorized),
        Row(
            testDescription: "not if its API key may be a stored one", apiKey: "unknown", needsTask: true,
            status: .unauthorized),
        Row(testDescription: "for another method", method: .put, status: .methodNotAllowed),
        Row(testDescription: "for a proxy, of a session in memory", path: "/auth/verify", status: .ok),
        Row(
            testDescription: "for a proxy, not of a session that the store must be asked for", path: "/auth/verify",
            isLate: true, needsTask: true, status: .ok),
        Row(
            testDescription: "for a proxy without a session", path: "/auth/verify", hasSession: false,
            status: .unauthorized),
        Row(
            testDescription: "for an introspection that is malformed", method: .post, path: "/auth/introspect",
            hasSession: false, body: "{}", status: .badRequest),
        Row(
            testDescription: "for a malformed sign-in", method: .post, path: "/auth/zenkey-signin", body: "{}",
            status: .badRequest),
        Row(
            testDescription: "not for a sign-in", method: .post, path: "/auth/zenkey-signin",
            body: SignInBody().code("CODE-2").json, needsTask: true, status: .ok),
        Row(testDescription: "not for a change", method: .patch, body: #"{"name":"B"}"#, needsTask: true, status: .ok),
        Row(testDescription: "not for a file", path: "/index.html", needsTask: true, status: .ok),
    ]

    private static let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test(arguments: rows)
    func responds(_ row: Row) async throws {
        let app = try TestApp()
        let token = try await app.token(SignInBody().code("CODE-1"))
        if row.isLate { app.clock.advance(bySeconds: 6) }
        var headers: HTTPFields = [:]
        if row.isTraced { headers[try #require(HTTPField.Name("traceparent"))] = Self.traceparent }
        if let key = row.apiKey { headers[try #require(HTTPField.Name("X-API-KEY"))] = key }
        if row.hasSession { headers[.authorization] = "Bearer \(token)" }
        if !row.body.isEmpty { headers[.contentType] = "application/json" }
        let request = try Request(row.method, row.path, headers: headers, body: Array(row.body.utf8))
        switch try app.api.immediateHandler()(request) {
        case .value(let response):
            #expect(!row.needsTask)
            #expect(response.status == row.status)
        case .task(let work):
            #expect(row.needsTask)
            #expect(try await work().status == row.status)
        }
        #expect(app.api.load.inProgress == 0)
    }
}
