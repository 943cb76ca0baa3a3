import HTTPTypes
import Testing

/// All header fields of each kind of response, so that none is lost, weakened or added unnoticed.
@Suite("The header fields of") struct HeaderFieldTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var method = HTTPRequest.Method.get
        let path: String
        var headers: [(String, String)] = []
        var body = ""
        var apiKey: String?
        /// Whether the request has the session of a signed-in user.
        var isSignedIn = false
        let status: Int
        /// The type, the lifetime in caches, and how browsers must treat it.
        let fields: [String]
    }

    private static let strict = "Strict-Transport-Security: max-age=31536000"
    private static let json = ["Cache-Control: no-store", "Content-Type: application/json; charset=utf-8"]
    private static func page(_ more: String...) -> [String] {
        [
            "Cache-Control: no-store", "Content-Type: text/html; charset=utf-8",
        ] + more
    }
    private static let own = """
        Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
        base-uri 'none'; frame-ancestors 'none'
        """
    private static let noForms = own + "; form-action 'none'"
    private static let script = [
        "Cache-Control: public, max-age=300", "Content-Type: text/javascript; charset=utf-8",
    ]
    private static let key = TestApp.apiKey
    private static let html = ("Accept", "text/html")
    private static let origin = ("Origin", "https://web.example")
    private static let start =
        "/auth/zenkey/start?redirect_uri=https%3A%2F%2Fapp.example%2Fcb&mccmnc=310410&client_type=web"

    static let rows: [Row] = [
        Row(
            testDescription: "a response in JSON", path: "/users/me", apiKey: key, isSignedIn: true, status: 200,
            fields: json),
        Row(
            testDescription: "an error in JSON", path: "/users/me", apiKey: key, status: 401,
            fields: json + ["WWW-Authenticate: Bearer"]),
        Row(
            testDescription: "a problem", path: "/users/me", headers: [("Accept", "application/problem+json")],
            apiKey: key, status: 401,
            fields: ["Cache-Control: no-store", "Content-Type: application/problem+json", "WWW-Authenticate: Bearer"]),
        Row(
            testDescription: "an error of another origin", path: "/users/me", headers: [origin], status: 401,
            fields: json + [
                "Access-Control-Allow-Origin: https://web.example",
                "Access-Control-Expose-Headers: "
                    + "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate",
                "Vary: Origin", "WWW-Authenticate: Bearer",
            ]),
        Row(
            testDescription: "a preflight", method: .options, path: "/users/me",
            headers: [origin, ("Access-Control-Request-Method", "DELETE")], status: 204,
            fields: [
                "Access-Control-Allow-Headers: Authorization, Content-Type, X-API-KEY",
                "Access-Control-Allow-Methods: GET, POST, PATCH, DELETE",
                "Access-Control-Allow-Origin: https://web.example",
                "Access-Control-Expose-Headers: "
                    + "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate",
                "Access-Control-Max-Age: 7200", "Vary: Origin",
            ]),
        Row(testDescription: "a health check", path: "/healthz", status: 200, fields: json),
        Row(
            testDescription: "a page of a failed sign-in", path: "/auth/zenkey/callback", headers: [html], status: 400,
            fields: page(noForms, "Referrer-Policy: no-referrer")),
        Row(
            testDescription: "the sign-in page", path: "/sign-in", headers: [html], status: 200,
            fields: page(noForms, "Referrer-Policy: same-origin")),
        Row(
            testDescription: "a page that passes a form on", method: .post, path: "/auth/zenkey/callback",
            headers: [("Content-Type", "application/x-www-form-urlencoded")], body: "state=s&code=c", status: 200,
            fields: page(own, "Referrer-Policy: no-referrer")),
        Row(
            testDescription: "a file of the site", path: "/style.css", status: 200,
            fields: [
                "Accept-Ranges: bytes", "Cache-Control: public, max-age=300",
                """
                Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
                """,
                "Content-Type: text/css; charset=utf-8", "Referrer-Policy: no-referrer", "Vary: Accept-Encoding",
            ]),
        Row(testDescription: "a script of a page", path: "/auth/popup.js", status: 200, fields: script),
        Row(testDescription: "another script of a page", path: "/auth/form-post.js", status: 200, fields: script),
        Row(
            testDescription: "a redirect to a provider", path: start, status: 303,
            fields: ["Cache-Control: no-store", "Referrer-Policy: no-referrer"]),
        Row(
            testDescription: "the published keys", path: "/.well-known/jwks.json", status: 200,
            fields: ["Cache-Control: public, max-age=3600", "Content-Type: application/jwk-set+json"]),
        Row(
            testDescription: "the OpenAPI document", path: "/openapi.json", status: 200,
            fields: [
                "Cache-Control: public, max-age=300", "Content-Type: application/json; charset=utf-8",
                "Vary: Accept-Encoding",
            ]),
    ]

    @Test("are the documented ones", arguments: rows)
    func fields(row: Row) async throws {
        let app = try TestApp(allowedOrigins: row.headers.contains { $0.0 == "Origin" } ? ["https://web.example"] : [])
        var headers: HTTPFields = [:]
        for (name, value) in row.headers { headers[try #require(HTTPField.Name(name))] = value }
        if row.isSignedIn { headers[.authorization] = "Bearer \(try await app.token())" }
        let answer = try await app.send(row.method, row.path, headers, body: row.body, apiKey: row.apiKey)
        #expect(answer.status == row.status)
        #expect(answer.requestID?.isEmpty == false)
        // Other tests compare these, and those that the server adds to every response.
        let others: Set = ["X-Request-Id", "Location", "Set-Cookie", "ETag", "Last-Modified"]
        let fields = answer.headers.filter { !others.contains($0.name.rawName) }
            .map { "\($0.name.rawName): \($0.value)" }
        #expect(fields.sorted() == (row.fields + [Self.strict]).sorted())
    }
}
