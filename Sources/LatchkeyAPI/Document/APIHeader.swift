import Primitives

/// A header field of answers.
struct APIHeader: Sendable {
    let name: String
    let description: String
    let example: String
    /// Whether it is there wherever it is told of.
    var isAlways = true

    static let components: [APIHeader] = [
        APIHeader(
            name: "X-Request-Id",
            description: "What the request is called in the log. Errors have it in their body, too.",
            example: "k3x9ab-1f"),
        APIHeader(
            name: "Cache-Control", description: "`no-store` on whatever has a token or personal data in it.",
            example: "no-store"),
        APIHeader(
            name: "WWW-Authenticate", description: "How to be let in (RFC 9110 section 11.6.1).", example: "Bearer"),
        APIHeader(
            name: "Allow", description: "The methods that the path knows.", example: "DELETE, GET, HEAD, OPTIONS, PATCH"
        ),
        APIHeader(
            name: "Retry-After", description: "After so many seconds another try makes sense.", example: "5",
            isAlways: false),
        APIHeader(
            name: "RateLimit", description: "How much is left (draft-ietf-httpapi-ratelimit-headers-10).",
            example: #""address";r=0;t=1"#, isAlways: false),
        APIHeader(
            name: "RateLimit-Policy", description: "The limit that it is about.", example: #""address";q=5000;w=10"#,
            isAlways: false),
        APIHeader(
            name: "Location", description: "Where the browser goes on.",
            example: "https://web.example/done?action=login&status=success"),
        APIHeader(
            name: "Set-Cookie",
            description: "The session, or which browser this is: `HttpOnly; SameSite=Lax`, under https also `Secure`.",
            example: "__Host-latchkey_session=…; Path=/; HttpOnly; SameSite=Lax; Max-Age=3600; Secure", isAlways: false),
        APIHeader(
            name: "ETag", description: "Names what was answered; good for `If-None-Match`.", example: "\"5f1c…\""),
    ]

    var json: JSONValue {
        .object(of: [
            ("description", .string(description)), ("required", isAlways ? .bool(true) : nil),
            ("schema", .object(of: [("type", .string("string"))])), ("example", .string(example)),
        ])
    }
}
