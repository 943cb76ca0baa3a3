import HTTPTypes
import Primitives

/// The error responses and their examples. Many calls share them, so the document has each once.
struct APIResponses {
    private(set) var components: [(name: String, value: JSONValue?)] = []
    private(set) var examples: [(name: String, value: JSONValue?)] = []

    /// A reference to the response of refusals with one status.
    /// - Parameter asPage: Whether a browser gets a page instead, unless it asks for JSON.
    mutating func reference(to refusals: [APIRefusal], asPage: Bool) -> JSONValue {
        let status = refusals.first?.status ?? .internalServerError
        let names = refusals.map(\.name)
        let name = "\(status.code)." + names.joined(separator: ".") + (asPage ? ".page" : "")
        for refusal in refusals {
            let value = JSONValue.object(of: [("value", refusal.example)])
            // Of two errors with one name both are kept, so that a test sees it.
            if !examples.contains(where: { $0 == (refusal.name, value) }) { examples.append((refusal.name, value)) }
        }
        if !components.contains(where: { $0.name == name }) {
            components.append((name, Self.response(status, refusals, asPage: asPage)))
        }
        return Self.reference("responses", name)
    }

    static func reference(_ kind: String, _ name: String) -> JSONValue {
        .object(of: [("$ref", .string("#/components/\(kind)/\(name)"))])
    }

    static func headers(_ names: [String]) -> JSONValue {
        .object(of: names.map { ($0, reference("headers", $0)) })
    }

    private static func response(_ status: HTTPResponse.Status, _ refusals: [APIRefusal], asPage: Bool) -> JSONValue {
        var codes: [String] = []
        for refusal in refusals {
            let code = refusal.example.object?["error"]?.string ?? ""
            let text = refusal.isProvidersOwn ? "any code of the provider’s own" : "`\(code)`"
            if !codes.contains(text) { codes.append(text) }
        }
        let json = JSONValue.object(of: [
            ("schema", schema(refusals)),
            ("examples", .object(of: refusals.map { ($0.name, reference("examples", $0.name)) })),
        ])
        let problem = JSONValue.object(of: [
            ("schema", APISchema.named("Problem").json), ("example", refusals.first?.problem),
        ])
        let page = JSONValue.object(of: [("schema", APISchema.text("A page for the person.").json)])
        return .object(of: [
            ("description", .string("\(status.reasonPhrase): \(codes.joined(separator: ", ")).")),
            ("headers", headers(headerNames(status))),
            (
                "content",
                .object(of: [
                    ("application/json", json), ("application/problem+json", problem),
                    ("text/html", asPage ? page : nil),
                ])
            ),
        ])
    }

    private static func schema(_ refusals: [APIRefusal]) -> JSONValue {
        let error = APISchema.named("Error")
        guard refusals.contains(where: { $0.name == "user_not_registered" }) else { return error.json }
        return APISchema.anyOf("A user who must register gets more.", [.named("RegistrationNeeded"), error]).json
    }

    private static func headerNames(_ status: HTTPResponse.Status) -> [String] {
        let own =
            switch status {
            case .unauthorized: ["WWW-Authenticate"]
            case .methodNotAllowed: ["Allow"]
            case .tooManyRequests: ["Retry-After", "RateLimit", "RateLimit-Policy"]
            case .serviceUnavailable: ["Retry-After"]
            default: [String]()
            }
        return ["X-Request-Id", "Cache-Control"] + own
    }

    static let headerComponents: [(name: String, value: JSONValue?)] = [
        header("X-Request-Id", "The request's name in the log. Errors have it in their body, too.", "k3x9ab-1f"),
        header("Cache-Control", "`no-store` on responses with a token or personal data.", "no-store"),
        header("WWW-Authenticate", "How to authenticate (RFC 9110 section 11.6.1).", "Bearer"),
        header("Allow", "The methods of the path.", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        header("Retry-After", "When to try again, in seconds.", "5", isRequired: false),
        header(
            "RateLimit", "The remaining quota (draft-ietf-httpapi-ratelimit-headers-10).", #""address";r=0;t=1"#,
            isRequired: false),
        header("RateLimit-Policy", "The limit itself.", #""address";q=5000;w=10"#, isRequired: false),
        header("Location", "Where the browser continues.", "https://web.example/done?action=login&status=success"),
        header(
            "Set-Cookie",
            "The session, or the browser during a sign-in: `HttpOnly; SameSite=Lax`, under https also `Secure`.",
            "__Host-latchkey_session=…; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure", isRequired: false),
        header("ETag", "The version of the content, for `If-None-Match`.", "\"5f1c…\""),
    ]

    /// - Parameter isRequired: Whether it is present in every response that lists it.
    private static func header(
        _ name: String, _ description: String, _ example: String, isRequired: Bool = true
    ) -> (name: String, value: JSONValue?) {
        let value = JSONValue.object(of: [
            ("description", .string(description)), ("required", isRequired ? .bool(true) : nil),
            ("schema", .object(of: [("type", .string("string"))])), ("example", .string(example)),
        ])
        return (name, value)
    }
}
