import HTTPTypes
import Primitives
import SignIn

extension APIOperation {
    static let ofCore: [APIOperation] =
        ofSignIn + ofSessions + ofAccount + ofPublishedKeys + ofOperation

    private static let ofSignIn: [APIOperation] = [
        signIn(
            .keyOrPage, .session(.ok, "The user is signed in."), APIRefusal.ofCarriers + APIRefusal.ofOperators,
            """


            At a provider of kind `camara` the body has an `operator_token` in place of a code, and at one of kind \
            `firebase_pnv` a `token`; after a start with a digital credential, its `sign_in_id` and the `vp_token`. A \
            page of this server's own origin sends `client_type`, and gets cookies instead of tokens.
            """),
        // Carriers have no refusals of operators, and the example apps know none.
        signIn(
            .key, .json("The user is signed in.", .named("TokenResponse"), example: APIExample.tokens),
            APIRefusal.ofCarriers
        ).also(
            at: "/auth/zenkey-signin", "signInWithZenKey",
            "This is `/auth/zenkey/sign-in` under the name that the published example apps use."),
        APIOperation(
            .post, "/auth/{provider}/attempts", "issueAttempt", .signIn, .keyOrPage, "Get a nonce for a sign-in",
            """
            Optional, unless the client is configured with `nonce: issued`: then a sign-in needs a nonce from here, \
            usable once. A body is ignored, but a page of this server's own origin sends `client_type`.
            """,
            responses: [
                .json(
                    "Values for the authorization request.",
                    .object(
                        "Both are random and usable once.",
                        [
                            "nonce": .text("For the authorization request and the sign-in."),
                            "state": .text("For the authorization request."),
                            "expires_in": .span("Lifetime of both", example: 600),
                        ]), example: #"{"nonce": "\#(APIExample.nonce)", "state": "af0ifjsldkj", "expires_in": 600}"#)
            ], refusals: [.providerUnknown, .otherClientAtSignIn]),
    ]

    /// - Parameter refusals: Those of the providers that the path can name.
    private static func signIn(
        _ access: Access, _ response: Response, _ refusals: [APIRefusal], _ more: String = ""
    ) -> APIOperation {
        APIOperation(
            .post, "/auth/{provider}/sign-in", "signIn", .signIn, access, "Sign in with an authorization code",
            """
            Redeems the code at the user's provider, checks the ID token, and returns a Latchkey session. If the \
            response was lost, the same caller may send the same request again within 60 seconds, if it has a \
            `code_verifier`.
            """ + more,
            body: Body(schema: "SignIn", example: APIExample.signIn(#", "nonce": "\#(APIExample.nonce)""#)),
            responses: [response],
            refusals: refusals + [.mustRegister, .unlinkedUser, .otherClientAtSignIn, .providerUnknown])
    }

    private static let ofSessions: [APIOperation] = [
        APIOperation(
            .post, "/auth/token", "refresh", .sessions, .refresh, "Refresh a session",
            """
            Exchanges a refresh token, usable once, for new tokens. Reuse of a used token revokes the session. For 30 \
            seconds the same refresh gets the same response, so that neither a lost response nor two windows that \
            refresh at once sign the user out. After 503, send the same request again: the token may still be \
            valid. A page of this server's own origin sends only its refresh cookie.
            """,
            body: Body(
                schema: "Refresh",
                example: #"{"grant_type": "refresh_token", "refresh_token": "\#(APIExample.refreshToken)"}"#),
            responses: [.session(.ok, "New tokens of the same session.")],
            refusals: [
                APIRefusal(APIError.unsupportedGrantType(nil)),
                APIRefusal(SignInError.refreshTokenInvalid, as: "refresh_token_worth_nothing"),
                APIRefusal(APIError.sessionMissing, as: "session_missing"),
            ]),
        APIOperation(
            .delete, "/auth/token", "signOut", .sessions, .session, "Sign out", "Revokes both tokens of the session.",
            responses: [.doneAndCookie]),
        APIOperation(
            .get, "/users/me/sessions", "listSessions", .sessions, .session, "List the user's sessions",
            "The last seen first, at most 200.",
            responses: [
                .json(
                    "All sessions of the user.",
                    .object("The list.", ["sessions": .list("The sessions.", of: .named("Session"))]),
                    example: """
                        {"sessions": [{"id": "7d2c", "client_id": "ccid-example", "device": "Firefox on Windows", \
                        "created_at": 1800000000, "last_seen_at": 1800000300, "expires_at": 1801209600, "current": \
                        true}]}
                        """)
            ]),
        APIOperation(
            .delete, "/users/me/sessions", "revokeOtherSessions", .sessions, .session, "End all other sessions",
            "All but the calling session.",
            responses: [
                .json(
                    "They are ended.",
                    .object("The count.", ["revoked": .integer("The number of sessions ended.", from: 0)]),
                    example: #"{"revoked": 2}"#)
            ]),
        APIOperation(
            .delete, "/users/me/sessions/{id}", "revokeSession", .sessions, .session, "End one session",
            "Any of the user's own.",
            parameters: [.path("id", .text("As in the list of sessions.", example: "7d2c"))], responses: [.done],
            refusals: [
                APIRefusal(SignInError.noSuchSession, as: "session_unknown")
            ]),
    ]

    private static let ofAccount: [APIOperation] = [
        APIOperation(
            .get, "/users/me", "showUser", .account, .session, "Show the signed-in user",
            "Also tells whether a session is valid.",
            responses: [.json("The user.", shownUser, example: APIExample.user)]),
        APIOperation(
            .patch, "/users/me", "editUser", .account, .session, "Edit the profile",
            """
            A field that is left out stays; null or an empty text clears it. All invalid fields are named at once, and \
            then nothing changes.
            """,
            body: Body(schema: "ProfileEdit", example: #"{"name": "Jane Doe", "postal_code": null}"#),
            responses: [.json("The changed user.", shownUser, example: APIExample.user)],
            refusals: [.emailDomainBlocked]),
        APIOperation(
            .delete, "/users/me", "eraseUser", .account, .session, "Erase the account",
            "Deletes the user with all identities, sessions, tokens and the profile. This cannot be undone.",
            responses: [.doneAndCookie]),
    ]

    private static let shownUser = APISchema.anyOf(
        "`AndroidUser` with `compat.android`.", [.named("User"), .named("AndroidUser")])

    private static let ofOperation: [APIOperation] = [
        APIOperation(
            .get, "/healthz", "health", .operation, .open, "Is the process up?", "Never limited.",
            responses: [status("ok", "It is.")]),
        APIOperation(
            .get, "/readyz", "readiness", .operation, .open, "Can it serve?",
            "503 while the server is about to stop or cannot use its database. Never limited.",
            responses: [status("ready", "It can.")]),
        APIOperation(
            .get, "/metrics", "metrics", .operation, .open, "Metrics for Prometheus",
            "For the addresses of `metrics.allowed_addresses` only, and not if `metrics.port` is set. Never limited.",
            responses: [.text("text/plain", "The Prometheus text format, version 0.0.4.")], refusals: [.pathUnknown]),
        APIOperation(
            .get, "/openapi.json", "document", .operation, .open, "This document", "`/api.html` shows it to people.",
            parameters: [.ifNoneMatch],
            responses: [
                .json(
                    "OpenAPI 3.1.",
                    .object(
                        "An OpenAPI document.", ["openapi": .text("The version of OpenAPI.", example: "3.1.0")],
                        isOpen: true), example: #"{"openapi": "3.1.0"}"#, headers: ["ETag"]),
                Response(status: .notModified, description: "Unchanged.", headers: ["Cache-Control", "ETag"]),
            ]),
    ]

    private static func status(_ text: String, _ description: String) -> Response {
        .json(
            description, .object("The status.", ["status": .always(.string(text), "Always.")]),
            example: #"{"status": "\#(text)"}"#)
    }

    private static let ofPublishedKeys: [APIOperation] = [
        APIOperation(
            .get, "/.well-known/jwks.json", "showSigningKeys", .transactions, .open, "Latchkey's public keys",
            """
            The keys that verify receipts and session tokens that are JWTs, and those of clients with a \
            `private_key`, which verify client assertions and signed requests. May be cached for an hour.
            """,
            parameters: [.ifNoneMatch],
            responses: [
                Response(
                    status: .ok, description: "A JSON Web Key Set.", contentType: "application/jwk-set+json",
                    schema: .named("KeySet"),
                    example: """
                        {"keys": [{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", \
                        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "use": "sig", "alg": "ES256", "kid": \
                        "4b1f"}]}
                        """, headers: ["Cache-Control", "ETag"]),
                Response(status: .notModified, description: "Unchanged.", headers: ["Cache-Control", "ETag"]),
            ])
    ]
}
