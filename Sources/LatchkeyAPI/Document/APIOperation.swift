import HTTPTypes
import Primitives

/// One call of the API, as the OpenAPI document tells it: the method and path of a route, and what its handler reads and
/// answers.
struct APIOperation: Sendable {
    enum Tag: String, Sendable, CaseIterable {
        case signIn = "Sign-in with a code"
        case registration = "Registration"
        case sessions = "Sessions"
        case account = "Account"
        case redirects = "Sign-in by redirects"
        case serverInitiated = "Server-initiated sign-in"
        case transactions = "Transactions"
        case services = "For your other services"
        case operation = "Operation"
    }

    /// Who may call it, which is also what may be refused because of it.
    enum Access: Sendable {
        /// Anybody.
        case open
        /// Anybody's browser: refusals are pages, unless JSON is asked for.
        case browser
        /// Whoever has an API key, or is on an allowed origin.
        case key
        /// As ``key``; or a page of this server's own origin, whose session is kept in cookies.
        case keyOrPage
        /// As ``key``; or a page that shows its refresh cookie.
        case refresh
        /// Whoever has an API key.
        case service
        /// As ``key``, with a session; a browser with its session cookie alone.
        case session
        /// A page of this server's own origin with its session cookie; refusals are as for ``browser``.
        case browserSession
        /// The carrier that was given the token.
        case notification
    }

    struct Parameter: Sendable {
        let name: String
        /// `path`, `query` or `header`.
        let place: String
        let isRequired: Bool
        let schema: APISchema
    }

    /// What is sent: a JSON object or a form of the same fields.
    struct Body: Sendable {
        /// In ``APISchema/components``.
        let schema: String
        /// A JSON object.
        let example: String
        /// Only browsers send it, and only as a form.
        var isFormOnly = false
    }

    /// What is answered when all is well.
    struct Answer: Sendable {
        let status: HTTPResponse.Status
        let description: String
        var contentType = "application/json"
        /// Nil if there is no content.
        var schema: APISchema?
        /// A JSON text, if the content is JSON.
        var example: String?
        /// Beside those that every answer has: names in ``APIHeader/components``.
        var headers: [String] = []
    }

    let method: HTTPRequest.Method
    let path: String
    let id: String
    let summary: String
    let description: String
    let tag: Tag
    let access: Access
    let parameters: [Parameter]
    let body: Body?
    let answers: [Answer]
    /// Beside what every call of this access may be refused for.
    let refusals: [APIRefusal]

    init(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ tag: Tag, _ access: Access, _ summary: String,
        _ description: String, parameters: [Parameter] = [], body: Body? = nil, answers: [Answer],
        refusals: [APIRefusal] = []
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.tag = tag
        self.access = access
        self.summary = summary
        self.description = description
        self.parameters = parameters
        self.body = body
        self.answers = answers
        self.refusals = refusals
    }

    /// The same at another path, whose parameters are the same or fewer unless `added`.
    func also(at path: String, _ id: String, added: [Parameter] = [], _ note: String) -> APIOperation {
        APIOperation(
            method, path, id, tag, access, summary, description + " " + note,
            parameters: parameters.filter { $0.place != "path" || path.contains("{\($0.name)}") } + added, body: body,
            answers: answers, refusals: refusals)
    }
}

extension APIOperation.Parameter {
    static func path(_ name: String, _ schema: APISchema) -> Self {
        Self(name: name, place: "path", isRequired: true, schema: schema)
    }

    static func query(_ name: String, isRequired: Bool = false, _ schema: APISchema) -> Self {
        Self(name: name, place: "query", isRequired: isRequired, schema: schema)
    }

    static func header(_ name: String, _ schema: APISchema) -> Self {
        Self(name: name, place: "header", isRequired: false, schema: schema)
    }

    static let provider = path(
        "provider", .text("A way to sign in: an `id` of `GET /auth/providers`.", example: "zenkey"))
}

extension APIOperation.Answer {
    static func json(
        _ status: HTTPResponse.Status = .ok, _ description: String, _ schema: APISchema, example: String,
        headers: [String] = []
    ) -> Self {
        Self(
            status: status, description: description, schema: schema, example: example,
            headers: ["Cache-Control"] + headers)
    }

    static let done = json(.ok, "Done.", .named("Empty"), example: "{}")

    /// Tokens, or cookies for a page.
    static func handed(_ status: HTTPResponse.Status = .ok, _ description: String = "A session.") -> Self {
        json(
            status, description + " A page has its tokens in cookies.",
            .anyOf("For a page the latter.", [.named("TokenResponse"), .named("PageSession")]),
            example: APIExample.tokens, headers: ["Set-Cookie"])
    }

    static func tokens(_ status: HTTPResponse.Status = .ok, _ description: String = "A session.") -> Self {
        json(status, description, .named("TokenResponse"), example: APIExample.tokens)
    }
}
