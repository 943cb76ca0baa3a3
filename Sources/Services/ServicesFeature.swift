package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
import SignIn
import StorageModel

/// Introspection and revocation for the administrator's other services (docs/sessions.md).
package struct ServicesFeature: Feature {
    package init(_ settings: NoSettings, in context: FeatureContext) {}

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.post("/auth/introspect", api.admitting(.service, immediate: Self.introspect))
        router.post("/auth/revoke", api.admitting(.service, Self.revoke))
    }

    /// RFC 7662 section 2. Session tokens, unless `token_type_hint` says `refresh_token`.
    ///
    /// Only a token of the requested kind: a service that accepted a refresh token as a session token would let its
    /// holder in for a month. At once for a session in memory; otherwise it may throw `temporarily_unavailable`.
    @Sendable private static func introspect(
        _ api: LatchkeyAPI, _ request: Request, _ admission: Admission
    ) throws -> ValueOrTask<Response> {
        let question = try question(request, admission)
        let sessions = api.useCases.sessions
        guard question.hint != "refresh_token" else {
            return .task {
                introspection(
                    of: try await sessions.authenticate(refreshToken: question.token), isRefreshToken: true, admission)
            }
        }
        return switch sessions.lookUp(question.token) {
        case .value(let found): .value(introspection(of: found, admission))
        case .task(let work): .task { introspection(of: try await work(), admission) }
        }
    }

    /// - Parameter token: The session of a valid token.
    private static func introspection(
        of token: SessionAndUser?, isRefreshToken: Bool = false, _ admission: Admission
    ) -> Response {
        // A session of a client that the key is not for counts as unknown.
        let found = token.flatMap { admission.allows($0.session.clientID) ? $0 : nil }
        return .json(.ok, capacity: 512) { json in
            json.add("active", found != nil)
            if let found {
                // A refresh token is not a bearer token, and `expiresAt` is not its expiry.
                if !isRefreshToken {
                    json.add("token_type", "bearer")
                    json.add("exp", found.session.expiresAt.secondsSinceEpoch)
                }
                json.add("client_id", found.session.clientID)
                json.add("sub", found.user.publicID)
                json.add("user_id", found.user.id.number)
                json.add("username", ifPresent: found.user.profile[.username])
                json.add("auth_time", found.session.createdAt.secondsSinceEpoch)
                json.add("session_id", found.session.id)
                found.user.addVerifications(to: &json)
            }
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
        return (Secret(token), hint)
    }

    package static let operations: [APIOperation] = [
        APIOperation(
            .post, "/auth/introspect", "introspect", .services, .service, "Introspect a token",
            """
            RFC 7662. A refresh token is `active` only if `token_type_hint` is `refresh_token`, so that it is never \
            taken for a session token.
            """,
            body: .init(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#),
            responses: [
                .json(
                    "Whether the token is valid, and its user.", .named("Introspection"),
                    example: """
                        {"active": true, "token_type": "bearer", "exp": 1800003600, "client_id": "ccid-example", \
                        "sub": "u_8KfX2mQ0", "user_id": 7, "auth_time": 1800000000, "session_id": "7d2c"}
                        """)
            ]),
        APIOperation(
            .post, "/auth/revoke", "revokeToken", .services, .service, "Revoke the session of a token",
            "RFC 7009. The response is the same whether there was such a session or not.",
            body: .init(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#), responses: [.done]),
    ]

    package static let schemas: KeyValuePairs<String, APISchema> = [
        "Introspection": .object(
            "All of this for a token that is valid; `active` alone for any other.",
            ["active": .flag("Whether the token is valid.")],
            optional: [
                "token_type": .always(.string("bearer"), "Of session tokens."),
                "exp": .seconds("When a session token expires"),
                "client_id": .text("The app that the session is for."), "sub": .publicID, "user_id": .userID,
                "username": .text("If the user has chosen one."), "auth_time": .seconds("When the user signed in"),
                "session_id": .text("As in the list of sessions."),
            ], APISchema.verificationFields(areRequired: false)),
        "TokenQuestion": .object(
            "A token of a session.",
            ["token": .text("The token.", lengths: 1...65_536, example: APIExample.token)],
            optional: [
                "token_type_hint": .text(
                    "`refresh_token`, or anything else for session tokens.", example: "access_token")
            ]),
    ]
}
