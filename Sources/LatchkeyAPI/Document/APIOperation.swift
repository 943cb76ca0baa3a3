public import HTTPTypes

/// One call of the API in the OpenAPI document: the method and path of a route, and what its handler reads and
/// responds.
public struct APIOperation: Sendable {
    /// The section of the document.
    public enum Tag: String, Sendable, CaseIterable {
        case signIn = "Sign-in with a code"
        case registration = "Registration"
        case sessions = "Sessions"
        case account = "Account"
        case redirects = "Sign-in by redirects"
        case backchannelAuthentication = "Backchannel authentication"
        case transactions = "Transactions"
        case services = "For your other services"
        case operation = "Operation"
    }

    /// Who may call an operation; decides which refusals it has.
    public enum Access: Sendable {
        case open
        /// Any browser: refusals are pages, unless JSON is asked for.
        case browser
        /// Callers with an API key or on an allowed origin.
        case key
        /// As ``key``; or a page of this server's own origin, whose session is in cookies.
        case keyOrPage
        /// As ``key``; or a page with its refresh cookie.
        case refresh
        case service
        /// As ``key``, with a session; a browser with its session cookie alone.
        case session
        /// A page of this server's own origin with its session cookie; refusals are as for ``browser``.
        case browserSession
        /// The provider that was given the notification token.
        case notification
    }

    /// A part of the path, a field of the query or of the head.
    public struct Parameter: Sendable {
        let name: String
        /// `path`, `query` or `header`.
        let location: String
        var isRequired = false
        let schema: APISchema
    }

    /// A JSON object or a form of the same fields.
    public struct Body: Sendable {
        /// A name in ``APISchema/bodies``, or in the schemas of the feature.
        let schema: String
        let example: String
        let contentType: String

        /// - Parameter example: A JSON text.
        public init(schema: String, example: String, isFormOnly: Bool = false) {
            self.init(
                schema: schema, example: example,
                as: isFormOnly ? "application/x-www-form-urlencoded" : "application/json")
        }

        /// - Parameters:
        ///   - example: A JSON text.
        ///   - contentType: The only one that is read.
        package init(schema: String, example: String, as contentType: String) {
            self.schema = schema
            self.example = example
            self.contentType = contentType
        }
    }

    /// A response that is not a refusal.
    public struct Response: Sendable {
        let status: HTTPResponse.Status
        let description: String
        var contentType = "application/json"
        /// Nil if there is no content.
        var schema: APISchema?
        /// A JSON text, if the content is JSON.
        var example: String?
        /// Names in ``APIResponses/headerComponents``, beside those of every response.
        var headers = ["Cache-Control"]
    }

    let method: HTTPRequest.Method
    package let path: String
    package let id: String
    let summary: String
    let description: String
    let tag: Tag
    let access: Access
    let parameters: [Parameter]
    let body: Body?
    let responses: [Response]
    /// Beside the refusals of every call with this access.
    package let refusals: [APIRefusal]

    /// - Parameters:
    ///   - path: The pattern of the route.
    ///   - id: A name of its own in the document, for generated clients.
    ///   - parameters: Those besides `{provider}`.
    ///   - responses: Those that are not refusals.
    ///   - refusals: Beside those of every call with this access.
    public init(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ tag: Tag, _ access: Access, _ summary: String,
        _ description: String, parameters: [Parameter] = [], body: Body? = nil, responses: [Response],
        refusals: [APIRefusal] = []
    ) {
        self.method = method
        self.path = path
        self.id = id
        self.tag = tag
        self.access = access
        self.summary = summary
        self.description = description
        let namesProvider = path.contains("{provider}") && !parameters.contains { $0.name == "provider" }
        self.parameters = (namesProvider ? [.provider] : []) + parameters
        self.body = body
        self.responses = responses
        self.refusals = refusals
    }

    /// The same operation at another path, whose parameters are the same or fewer unless `added`.
    package func also(at path: String, _ id: String, added: [Parameter] = [], _ note: String) -> APIOperation {
        APIOperation(
            method, path, id, tag, access, summary, description + " " + note,
            parameters: parameters.filter { $0.location != "path" || path.contains("{\($0.name)}") } + added,
            body: body, responses: responses, refusals: refusals)
    }
}

extension APIOperation.Parameter {
    /// A `{name}` of the path.
    public static func path(_ name: String, _ schema: APISchema) -> Self {
        Self(name: name, location: "path", isRequired: true, schema: schema)
    }

    /// A field of the query.
    public static func query(_ name: String, isRequired: Bool = false, _ schema: APISchema) -> Self {
        Self(name: name, location: "query", isRequired: isRequired, schema: schema)
    }

    static let ifNoneMatch = Self(
        name: "If-None-Match", location: "header", schema: .text("The `ETag` of the stored response."))

    fileprivate static let provider = path("provider", .text("An `id` of `GET /auth/providers`.", example: "zenkey"))
}

extension [APISchema.Field] {
    package var inQuery: [APIOperation.Parameter] {
        map { .query($0.name, isRequired: $0.isRequired, $0.schema) }
    }
}

extension APIOperation.Response {
    /// JSON.
    public static func json(
        _ description: String, _ schema: APISchema, status: HTTPResponse.Status = .ok, example: String,
        headers: [String] = []
    ) -> Self {
        Self(
            status: status, description: description, schema: schema, example: example,
            headers: ["Cache-Control"] + headers)
    }

    /// Without content.
    public static func noContent(_ description: String, status: HTTPResponse.Status = .noContent) -> Self {
        Self(status: status, description: description)
    }

    package static let done = json("Done.", .named("Empty"), example: "{}")
    static let doneAndCookie = json("Done.", .named("Empty"), example: "{}", headers: ["Set-Cookie"])

    package static func text(_ contentType: String, _ description: String, setsCookie: Bool = false) -> Self {
        Self(
            status: .ok, description: description, contentType: contentType, schema: .text("Text."),
            headers: ["Cache-Control"] + (setsCookie ? ["Set-Cookie"] : []))
    }

    /// 303 for a browser.
    package static func redirect(setsCookie: Bool = true) -> Self {
        Self(
            status: .seeOther, description: "The browser continues there.",
            headers: ["Location", "Cache-Control"] + (setsCookie ? ["Set-Cookie"] : []))
    }

    /// The location of a redirect, for scripts.
    package static func location(_ more: KeyValuePairs<String, APISchema> = [:], example: String) -> Self {
        json(
            "The location, for `Accept: application/json`.",
            .object("Where to send the browser.", ["location": .text("A URL.")], APISchema.fields(more)),
            example: example, headers: ["Set-Cookie"])
    }

    /// As ``redirect(setsCookie:)`` of a start by redirects.
    package static let startLocation = location(
        ["expires_in": .span("Time left for the sign-in", example: 600)],
        example: #"{"location": "https://carrier.example/authorize?…", "expires_in": 600}"#)

    /// Tokens, or cookies for a page.
    package static func session(_ status: HTTPResponse.Status = .ok, _ description: String = "A session.") -> Self {
        json(
            description + " A page has its tokens in cookies.",
            .anyOf("For a page the latter.", [.named("TokenResponse"), .named("PageSession")]), status: status,
            example: APIExample.tokens, headers: ["Set-Cookie"])
    }
}
