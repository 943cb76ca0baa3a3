import HTTPTypes
package import Primitives

/// Latchkey's HTTP API in OpenAPI 3.1.
///
/// Made of ``APIOperation/ofCore`` and those of features; tests compare these with the routes, and the responses of the
/// end-to-end tests with the document.
package struct OpenAPIDocument: Sendable {
    let version: String
    let sessionCookie: String
    /// The name of the cookie that holds its refresh token.
    let refreshCookie: String
    /// The path of the API; empty for the root.
    let path: String
    private let operations: [APIOperation]
    private let webhooks: [(name: String, value: JSONValue?)]
    private let schemas: [(name: String, value: JSONValue?)]

    /// - Parameter routes: Those of the server. Some need another feature, which it may lack. Nil for all.
    package init(
        version: String, sessionCookie: String, refreshCookie: String, path: String,
        features: [any APIFeature.Type] = [], routes: [(method: String, pattern: String)]? = nil
    ) {
        self.version = version
        self.sessionCookie = sessionCookie
        self.refreshCookie = refreshCookie
        self.path = path
        let ofFeatures = features.flatMap { $0.operations }.filter { operation in
            routes?.contains { $0 == (operation.method.rawValue, operation.path) } ?? true
        }
        operations = APIOperation.ofCore + ofFeatures
        webhooks = features.flatMap { $0.webhooks }
        let schemas = [APISchema.components, APISchema.bodies] + features.map { $0.schemas }
        self.schemas = schemas.joined().map { ($0.key, $0.value.json) }
    }

    package var json: JSONValue {
        var responses = APIResponses()
        let paths = paths(&responses)
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Latchkey", "version": .string(version),
                "summary": "Sign-in with mobile carriers and other identity providers: the service provider’s backend.",
                "description": .string(Self.introduction),
            ],
            "servers": [["url": .string(path.isEmpty ? "/" : path)]],
            "tags": .array(APIOperation.Tag.allCases.map { ["name": .string($0.rawValue)] }),
            "paths": paths, "webhooks": .object(of: webhooks), "components": components(&responses),
        ]
    }

    private func paths(_ responses: inout APIResponses) -> JSONValue {
        var paths: [String] = []
        for operation in operations where !paths.contains(operation.path) { paths.append(operation.path) }
        return .object(
            of: paths.map { path in
                let calls = operations.filter { $0.path == path }
                return (path, .object(of: calls.map { ($0.method.rawValue.lowercased(), $0.json(&responses)) }))
            })
    }

    private func components(_ responses: inout APIResponses) -> JSONValue {
        // No operation has the refusals of an unknown path or method.
        _ = responses.reference(to: [.pathUnknown], asPage: false)
        _ = responses.reference(to: [.methodNotAllowed], asPage: false)
        return [
            "schemas": .object(of: schemas),
            "responses": .object(of: responses.components), "examples": .object(of: responses.examples),
            "headers": .object(of: APIResponses.headerComponents),
            "securitySchemes": securitySchemes,
        ]
    }

    private var securitySchemes: JSONValue {
        func key(_ name: String, in location: String, _ description: String) -> JSONValue {
            ["type": "apiKey", "in": .string(location), "name": .string(name), "description": .string(description)]
        }
        func http(_ scheme: String, _ description: String) -> JSONValue {
            ["type": "http", "scheme": .string(scheme), "description": .string(description)]
        }
        return [
            "apiKey": key(
                "X-API-KEY", in: "header", "A key from the administrator. It may be for some clients or origins only."),
            "apiKeyAsPassword": http("basic", "The key as the password, with any user name."),
            "allowedOrigin": key(
                "Origin", in: "header",
                "A web frontend on an allowed origin needs no key; its browser sends this field."),
            "session": http(
                "bearer",
                "The `token` of a sign-in. One that is bound to a key is sent as `Authorization: DPoP`, with a "
                    + "proof in the field `DPoP` (RFC 9449)."),
            "sessionCookie": key(
                sessionCookie, in: "cookie",
                "A browser’s session. It allows changes only if the browser reports a page of this server "
                    + "(`Sec-Fetch-Site: same-origin`, or `Origin`)."),
            "refreshCookie": key(
                refreshCookie, in: "cookie", "Renews a browser’s session, from a page of this server only."),
            "ownPage": key(
                "Sec-Fetch-Site", in: "header",
                "A page of this server needs no key for a session in cookies (`client_type=web`); its browser "
                    + "sends `same-origin`."),
            "notificationToken": http(
                "bearer", "The token that a provider got with the request for a backchannel authentication."),
        ]
    }

    private static let introduction = """
        A client gets an authorization code from the user's provider and sends it here. Latchkey redeems it, checks \
        the ID token, and returns its own session; the provider's tokens and its subject never reach a client.

        **Bodies** that this document lists as `application/json` may also be `application/x-www-form-urlencoded`, \
        with the same fields. In a form, an empty field counts as left out. Unknown fields are ignored, except by \
        `PATCH /users/me`.

        **Errors** all have one form: `error_description` tells the developer what was wrong and what to do, `message` \
        tells the person. A client that accepts `application/problem+json` gets the same members as problem details \
        (RFC 9457). An unknown path is 404 `not_found`, an unsupported method 405 `method_not_allowed` with \
        `Allow`. `HEAD` works wherever `GET` does, `OPTIONS` returns the methods of a path.

        **Browsers** of allowed origins may call from their pages: preflights succeed for exactly those.
        """
}
