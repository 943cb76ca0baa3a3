package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
package import SignIn
import StorageModel

/// Introspection and revocation for the administrator's other services, session tokens that they verify
/// (docs/sessions.md), and authentication for proxies in front of them (docs/forward-authentication.md).
package struct ServicesFeature: Feature {
    private let configuration: Configuration
    private let forwardAuthentication: ForwardAuthentication

    /// - Throws: ``LatchkeyStartError`` for session tokens that this server could not keep safe.
    package init(_ settings: ServicesSettings, in context: FeatureContext) throws(LatchkeyStartError) {
        if let found = settings.contradictions(in: context.configuration).first {
            throw LatchkeyStartError(.configuration, "\(found.key): \(found.reason); \(found.remedy)")
        }
        configuration = context.configuration
        forwardAuthentication = ForwardAuthentication(settings)
    }

    package func accessTokenForm(signedWith keys: SigningKeys) -> (any AccessTokenForm)? {
        JWTAccessTokens(configuration, keys: keys)
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.post("/auth/introspect", api.admitting(.service, immediate: Self.introspect))
        router.post("/auth/revoke", api.admitting(.service, Self.revoke))
        router.get("/.well-known/oauth-authorization-server") { _ in try Self.metadata(of: api) }
        forwardAuthentication.addRoutes(to: &router, of: api)
    }

    /// RFC 7662 section 2. Session tokens, unless `token_type_hint` says `refresh_token`.
    ///
    /// Only a token of the requested kind: a service that accepted a refresh token as a session token would let its
    /// holder in for a month. At once for a session in memory; otherwise it may throw `temporarily_unavailable`.
    @Sendable private static func introspect(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission
    ) throws -> ValueOrTask<Response> {
        let question = try question(request, admission)
        let key = SessionTokenFormat.key(of: question.token.exposed)
        let isRefreshToken = question.hint == "refresh_token"
        let audience = TokenIntrospection.audience(of: request)
        let sessions = api.useCases.sessions
        @Sendable func introspection(_ found: SessionAndUser?) -> TokenIntrospection {
            TokenIntrospection(of: found, boundTo: key, isRefreshToken: isRefreshToken, for: admission)
        }
        let found: ValueOrTask<SessionAndUser?> =
            isRefreshToken
            ? .task { try await sessions.authenticate(refreshToken: question.token) } : sessions.lookUp(question.token)
        if case .value(let found) = found, audience == nil { return .value(introspection(found).response) }
        return .task {
            let introspection = introspection(try await found.run())
            guard let audience else { return introspection.response }
            return try await introspection.signed(for: audience, by: api)
        }
    }

    /// RFC 8414, for resource servers: there is no authorization endpoint for other parties.
    private static func metadata(of api: LatchkeyAPI) throws -> Response {
        let base = try api.publicURL()
        return .json(.ok, capacity: 1024) { json in
            json.add("issuer", base)
            json.add("jwks_uri", base + "/.well-known/jwks.json")
            json.add("introspection_endpoint", base + "/auth/introspect")
            json.add("introspection_endpoint_auth_methods_supported", ["client_secret_basic"])
            json.add("introspection_signing_alg_values_supported", [SigningAlgorithm.es256.rawValue])
            json.add("revocation_endpoint", base + "/auth/revoke")
            json.add("revocation_endpoint_auth_methods_supported", ["client_secret_basic"])
            json.add("token_endpoint", base + "/auth/token")
            json.add("grant_types_supported", ["refresh_token"])
            // Required, and libraries refuse an empty list.
            json.add("response_types_supported", ["none"])
            if api.keyProofs != nil { json.add("dpop_signing_alg_values_supported", [SigningAlgorithm.es256.rawValue]) }
        }
    }

    /// RFC 7009 section 2: the same response whether there was such a token or not.
    @Sendable private static func revoke(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission
    ) async throws -> Response {
        try await api.useCases.sessions.revoke(
            question(request, admission).token, clients: admission.clients, requestID: request.id)
        return .emptyObject
    }

    /// The token that a service asks about (RFC 7662 section 2.1, RFC 7009 section 2.1).
    private static func question(
        _ request: Request, _ admission: Admission
    ) throws(APIError) -> (token: Secret, hint: String?) {
        var reader = FieldReader(try BodyFields(request, from: admission))
        // A service may ask about any token that it receives, such as another issuer's.
        let token = reader.text("token", limit: 65_536, required: true)
        let hint = reader.text("token_type_hint", limit: 128)
        guard reader.problems.isEmpty, let token else { throw reader.refusal() }
        return (Secret(token).withKeyInFront, hint)
    }

    package static let operations: [APIOperation] = [
        APIOperation(
            .post, "/auth/introspect", "introspect", .services, .service, "Introspect a token",
            """
            RFC 7662. A refresh token is `active` only if `token_type_hint` is `refresh_token`, so that it is never \
            taken for a session token. With HTTP Basic and `Accept: application/token-introspection+jwt` the response \
            is a JWT (RFC 9701), whose `aud` is the user name.
            """,
            body: .init(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#),
            responses: [
                .json(
                    "Whether the token is valid, and its user.", .named("Introspection"),
                    example: """
                        {"active": true, "token_type": "bearer", "exp": 1800003600, "client_id": "ccid-example", \
                        "sub": "u_8KfX2mQ0", "user_id": 7, "auth_time": 1800000000, "session_id": "7d2c"}
                        """),
                .text(TokenIntrospection.signedContentType, "The same, signed by a key of `/.well-known/jwks.json`."),
            ]),
        APIOperation(
            .post, "/auth/revoke", "revokeToken", .services, .service, "Revoke the session of a token",
            "RFC 7009. The response is the same whether there was such a session or not.",
            body: .init(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#), responses: [.done]),
        APIOperation(
            .get, ForwardAuthentication.path, "verifyForwardedRequest", .services, .session,
            "Tell a proxy whose request it has",
            """
            For reverse proxies that ask before they send a request to an application: nginx, Traefik, Caddy, Envoy. A \
            trusted proxy needs no API key. Envoy asks at `/forward-auth`, to which it appends the path of the \
            request; there every method is served.
            """,
            parameters: [
                .query("rd", .text("Where the browser goes on after it has signed in, if that is allowed.")),
                .query("redirect", .text("`false`: 401 with a `Location` in place of 303.", choices: ["false"])),
            ],
            responses: [
                .noContent(
                    "The request is of the user `X-Auth-User` in the session `X-Auth-Session`. Further `X-Auth-` "
                        + "fields are as configured.", status: .ok), .redirect(setsCookie: false),
            ]),
        APIOperation(
            .get, "/.well-known/oauth-authorization-server", "showServerMetadata", .services, .open,
            "What resource servers use", "RFC 8414.",
            responses: [
                .json(
                    "The endpoints, and how to authenticate there.", .named("ServerMetadata"),
                    example: """
                        {"issuer": "https://login.example.com", \
                        "jwks_uri": "https://login.example.com/.well-known/jwks.json", \
                        "introspection_endpoint": "https://login.example.com/auth/introspect", \
                        "introspection_endpoint_auth_methods_supported": ["client_secret_basic"], \
                        "introspection_signing_alg_values_supported": ["ES256"], \
                        "revocation_endpoint": "https://login.example.com/auth/revoke", \
                        "revocation_endpoint_auth_methods_supported": ["client_secret_basic"], \
                        "token_endpoint": "https://login.example.com/auth/token", \
                        "grant_types_supported": ["refresh_token"], "response_types_supported": ["none"], \
                        "dpop_signing_alg_values_supported": ["ES256"]}
                        """)
            ]),
    ]

    package static let schemas: KeyValuePairs<String, APISchema> = [
        "Introspection": .object(
            "All of this for a token that is valid; `active` alone for any other.",
            ["active": .flag("Whether the token is valid.")],
            optional: [
                "token_type": .text("Of session tokens: `bearer`, or `DPoP` with a key.", choices: ["bearer", "DPoP"]),
                "cnf": .object("The key that the token is bound to.", ["jkt": .text("Its thumbprint (RFC 7638).")]),
                "exp": .seconds("When a session token expires"),
                "client_id": .text("The app that the session is for."), "sub": .publicID, "user_id": .userID,
                "username": .text("If the user has chosen one."), "auth_time": .seconds("When the user signed in"),
                "session_id": .text("As in the list of sessions."),
            ], APISchema.verificationFields(areRequired: false)),
        "ServerMetadata": .object(
            "The server's metadata.",
            [
                "issuer": .text("The `iss` of session tokens and introspections that are JWTs."),
                "jwks_uri": .text("The keys."),
                "introspection_endpoint": .text("The URL."), "revocation_endpoint": .text("The URL."),
                "token_endpoint": .text("The URL."),
                "introspection_endpoint_auth_methods_supported": methods,
                "revocation_endpoint_auth_methods_supported": methods,
                "introspection_signing_alg_values_supported": .list("Algorithms.", of: .text("An algorithm.")),
                "grant_types_supported": .list("Grant types.", of: .text("A grant type.")),
                "response_types_supported": .list("`none`.", of: .text("A response type.")),
            ],
            optional: [
                "dpop_signing_alg_values_supported": .list("Of proofs of apps.", of: .text("An algorithm."))
            ]),
        "TokenQuestion": .object(
            "A token of a session.",
            ["token": .text("The token.", lengths: 1...65_536, example: APIExample.token)],
            optional: [
                "token_type_hint": .text(
                    "`refresh_token`, or anything else for session tokens.", example: "access_token")
            ]),
    ]

    private static let methods = APISchema.list("How to authenticate.", of: .text("A method."))
}
