import Primitives

/// A header field of responses.
struct APIHeader: Sendable {
    let name: String
    let description: String
    let example: String
    /// Whether it is present in every response that lists it.
    let isRequired: Bool

    private init(_ name: String, _ description: String, _ example: String, isRequired: Bool = true) {
        self.name = name
        self.description = description
        self.example = example
        self.isRequired = isRequired
    }

    static let components: [APIHeader] = [
        APIHeader("X-Request-Id", "The request's name in the log. Errors have it in their body, too.", "k3x9ab-1f"),
        APIHeader("Cache-Control", "`no-store` on responses with a token or personal data.", "no-store"),
        APIHeader("WWW-Authenticate", "How to authenticate (RFC 9110 section 11.6.1).", "Bearer"),
        APIHeader("Allow", "The methods of the path.", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        APIHeader("Retry-After", "When to try again, in seconds.", "5", isRequired: false),
        APIHeader(
            "RateLimit", "The remaining quota (draft-ietf-httpapi-ratelimit-headers-10).", #""address";r=0;t=1"#,
            isRequired: false),
        APIHeader("RateLimit-Policy", "The limit itself.", #""address";q=5000;w=10"#, isRequired: false),
        APIHeader("Location", "Where the browser continues.", "https://web.example/done?action=login&status=success"),
        APIHeader(
            "Set-Cookie",
            "The session, or the browser during a sign-in: `HttpOnly; SameSite=Lax`, under https also `Secure`.",
            "__Host-latchkey_session=…; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure", isRequired: false),
        APIHeader("ETag", "The version of the content, for `If-None-Match`.", "\"5f1c…\""),
    ]

    var json: JSONValue {
        .object(of: [
            ("description", .string(description)), ("required", isRequired ? .bool(true) : nil),
            ("schema", .object(of: [("type", .string("string"))])), ("example", .string(example)),
        ])
    }
}
