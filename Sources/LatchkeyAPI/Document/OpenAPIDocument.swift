import HTTPTypes
package import Primitives

/// Latchkey's whole HTTP API in the words of OpenAPI 3.1.
///
/// It is made of ``APIOperation/all``; a test holds those against the routes, and the answers of the end-to-end tests against
/// the document.
package struct OpenAPIDocument: Sendable {
    /// Of this program.
    let version: String
    /// The name of the cookie that holds a browser's session.
    let sessionCookie: String
    /// The name of the one that holds its refresh token.
    let refreshCookie: String
    /// Where the API is below the document's own host; empty for the root.
    let path: String

    package init(version: String, sessionCookie: String, refreshCookie: String, path: String) {
        self.version = version
        self.sessionCookie = sessionCookie
        self.refreshCookie = refreshCookie
        self.path = path
    }

    package var json: JSONValue {
        let responses = APIResponses()
        let paths = Self.paths(responses)
        return .object(of: [
            ("openapi", .string("3.1.0")),
            (
                "info",
                .object(of: [
                    ("title", .string("Latchkey")), ("version", .string(version)),
                    ("summary", .string("Sign-in with mobile carriers: the service provider’s backend.")),
                    ("description", .string(Self.introduction)),
                ])
            ),
            ("servers", .array([.object(of: [("url", .string(path.isEmpty ? "/" : path))])])),
            (
                "tags",
                .array(APIOperation.Tag.allCases.map { .object(of: [("name", .string($0.rawValue))]) })
            ),
            ("paths", paths),
            ("components", components(responses)),
        ])
    }

    private static func paths(_ responses: APIResponses) -> JSONValue {
        var places: [String] = []
        for operation in APIOperation.all where !places.contains(operation.path) { places.append(operation.path) }
        return .object(
            of: places.map { place in
                let calls = APIOperation.all.filter { $0.path == place }
                return (
                    place, .object(of: calls.map { ($0.method.rawValue.lowercased(), $0.json(responses)) })
                )
            })
    }

    private func components(_ responses: APIResponses) -> JSONValue {
        // A path or a method that nobody has is no operation's to refuse.
        _ = responses.reference(to: [.pathUnknown], asPage: false)
        _ = responses.reference(to: [.methodNotAllowed], asPage: false)
        return .object(of: [
            (
                "schemas",
                .object(of: (APISchema.components + APISchema.bodies).map { ($0.name, $0.schema.json) })
            ),
            ("responses", .object(of: responses.components)),
            ("examples", .object(of: responses.examples)),
            ("headers", .object(of: APIHeader.components.map { ($0.name, $0.json) })),
            ("securitySchemes", securitySchemes),
        ])
    }

    private var securitySchemes: JSONValue {
        func key(_ name: String, in place: String, _ description: String) -> JSONValue {
            .object(of: [
                ("type", .string("apiKey")), ("in", .string(place)), ("name", .string(name)),
                ("description", .string(description)),
            ])
        }
        func bearer(_ description: String) -> JSONValue {
            .object(of: [
                ("type", .string("http")), ("scheme", .string("bearer")), ("description", .string(description)),
            ])
        }
        return .object(of: [
            (
                "apiKey",
                key(
                    "X-API-KEY", in: "header",
                    "A key that the operator has given out. It may be for some clients or origins only.")
            ),
            (
                "allowedOrigin",
                key(
                    "Origin", in: "header",
                    "A web frontend on an origin that the operator allows needs no key; its browser sends this field.")
            ),
            ("session", bearer("The `token` of a sign-in.")),
            (
                "sessionCookie",
                key(
                    sessionCookie, in: "cookie",
                    "A browser’s session. It changes something only when the browser says that a page of this very server "
                        + "asks (`Sec-Fetch-Site: same-origin`, or `Origin`).")
            ),
            (
                "refreshCookie",
                key(
                    refreshCookie, in: "cookie",
                    "What a browser’s session is prolonged with, by a page of this very server only.")
            ),
            (
                "ownPage",
                key(
                    "Sec-Fetch-Site", in: "header",
                    "A page of this very server needs no key for a session in cookies (`client_type=web`); its browser sends "
                        + "`same-origin`.")
            ),
            ("notificationToken", bearer("What a carrier was given with the request for a server-initiated sign-in.")),
        ])
    }

    private static let introduction = """
        A client gets an authorization code from the user's carrier and sends it here. Latchkey redeems it, checks the ID \
        token, and answers with a session of its own; the carrier's tokens and its subject never reach a client.

        **Bodies** are `application/json` or `application/x-www-form-urlencoded`, with the same fields. In a form, an empty \
        field counts as left out. Unknown fields are not looked at, except by `PATCH /users/me`.

        **Errors** are all of one form, and say what was wrong and what to do. A path that is not there is 404 `not_found`, \
        a method that a path does not know 405 `method_not_allowed` with `Allow`. `HEAD` is answered wherever `GET` is, \
        `OPTIONS` with the methods of a path.

        **Browsers** of allowed origins may call from their pages: preflights are answered for exactly those.
        """
}

extension APIOperation {
    /// All calls, in the order in which the document has them.
    static let all: [APIOperation] =
        ofSignIn + ofRegistration + ofSessions + ofLogout + ofAccount + ofLinking + ofRedirects + ofBackchannel
        + ofTransactions + ofServices + ofOperation
}
