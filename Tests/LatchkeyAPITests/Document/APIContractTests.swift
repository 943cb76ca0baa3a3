import Primitives
import TestSupport
import Testing

/// Checks the check: each of these faults is found.
@Suite struct APIContractTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var request = ("GET", "/users/me/sessions?x=1")
        var status = 200
        var fields = APIContractTests.fields
        var body = APIContractTests.sessions
        /// The fault's message; nil for a valid response.
        let says: String?

        init(
            _ says: String?, _ method: String = "GET", _ path: String = "/users/me/sessions?x=1", _ status: Int = 200,
            without field: String? = nil, type: String? = nil, _ body: String = APIContractTests.sessions
        ) {
            self.says = says
            request = (method, path)
            self.status = status
            self.body = body
            fields = fields.filter { $0.0 != field }.map { ($0.0, $0.0 == "Content-Type" ? type ?? $0.1 : $0.1) }
            testDescription = "\(method) \(path) \(status) \(body.prefix(60))"
        }
    }

    private static let fields = [
        ("Content-Type", "application/json; charset=utf-8"), ("X-Request-Id", "k-1"), ("Cache-Control", "no-store"),
        ("WWW-Authenticate", "Bearer"), ("Allow", "GET"), ("Retry-After", "1"),
    ]
    private static let session = """
        "id": "1", "client_id": "c", "device": null, "created_at": 1, "last_seen_at": 1, "expires_at": 2, \
        "current": true
        """
    private static let sessions = "{\"sessions\": [{\(session)}]}"

    private static func error(_ code: String, type: String = "invalidRequest", more: String = "") -> String {
        """
        {"error": "\(code)", "error_description": "d", "message": "m", "error_type": "\(type)", \
        "request_id": "k-1"\(more)}
        """
    }

    static let rows: [Row] = [
        Row(nil),
        Row(nil, "HEAD", "/users/me/sessions", 200, ""),
        Row(nil, "GET", "/users/me", 401, error("invalid_token")),
        Row(nil, "GET", "/nothing", 404, error("not_found")),
        Row(nil, "PUT", "/users/me", 405, error("method_not_allowed")),
        Row(nil, "GET", "/style.css", 200, type: "text/css", "p{}"),
        Row(nil, "POST", "/auth/zenkey/sign-in", 401, error("anything_of_the_carrier")),
        Row("X-Request-Id is missing", without: "X-Request-Id"),
        Row("text/plain, which the document does not name", type: "text/plain"),
        Row("not JSON", "GET", "/users/me/sessions", 200, "{"),
        Row("has no sessions", "GET", "/users/me/sessions", 200, "{}"),
        Row("has more, which", "GET", "/users/me/sessions", 200, #"{"sessions": [], "more": 1}"#),
        Row("[0].device is not", "GET", "/users/me/sessions", 200, sessions.replacing("null", with: "1")),
        Row(
            "[0] has no current", "GET", "/users/me/sessions", 200,
            sessions.replacing(#", "current": true"#, with: "")),
        Row("has no such status", "GET", "/users/me/sessions", 418, error("teapot")),
        Row("error expired is not documented", "GET", "/users/me", 401, error("expired")),
        Row("error_type is none of", "GET", "/users/me", 401, error("invalid_token", type: "odd")),
        Row("which its schema does not name", "GET", "/users/me", 401, error("invalid_token", more: #", "sub": "1""#)),
        Row(
            "WWW-Authenticate is missing", "GET", "/users/me", 401, without: "WWW-Authenticate",
            error("invalid_token")),
        Row("Allow is missing", "PUT", "/users/me", 405, without: "Allow", error("method_not_allowed")),
        Row("no such operation", "GET", "/users/you", 200, "{}"),
        Row("no such operation", "PUT", "/users/me", 200, "{}"),
        Row("none is documented", "POST", "/auth/zenkey-async-signin/notification", 204, "{}"),
        Row("fits none", "GET", "/auth/zenkey-async-signin/h", 200, #"{"auth_req_id": "h", "token": "t"}"#),
        Row("expires is less than", "POST", "/auth/token", 200, tokens(expires: -1)),
        Row("token_type is none of", "POST", "/auth/token", 200, tokens(type: "mac")),
        Row("correlation_id does not match", "POST", "/auth/token", 200, tokens(correlation: "a b")),
        Row(
            "correlation_id is too long", "POST", "/auth/token", 200,
            tokens(correlation: String(repeating: "a", count: 129))),
        Row("correlation_id is too short", "POST", "/auth/token", 200, tokens(correlation: "")),
    ]

    private static func tokens(expires: Int = 1, type: String = "bearer", correlation: String = "c") -> String {
        """
        {"token": "t", "refresh_token": "r", "token_type": "\(type)", "expires": \(expires), "new_user": true, \
        "correlation_id": "\(correlation)"}
        """
    }

    @Test("A response that is not in the document is found", arguments: rows)
    func faults(_ row: Row) throws {
        let contract = try APIContract(PublishedAPI.document)
        let faults = contract.faults(
            of: .init(
                row.request.0, row.request.1, status: row.status, fields: row.fields.map { ($0.0, $0.1) },
                body: Array(row.body.utf8)))
        if let says = row.says {
            #expect(faults.contains { $0.contains(says) }, "\(faults)")
        } else {
            #expect(faults.isEmpty)
        }
    }
}
