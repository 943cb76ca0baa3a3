import HTTPTypes
package import LatchkeyAPI
import SignIn

extension LinkingFeature {
    package static let operations: [APIOperation] = [
        APIOperation(
            .get, "/users/me/identities", "listIdentities", .account, .session, "List the user's ways to sign in",
            "Without the provider's subject, which is never shown.",
            responses: [
                .json(
                    "All identities of the user.",
                    .object("The list.", ["identities": .list("The identities.", of: .named("Identity"))]),
                    example: """
                        {"identities": [{"id": "9f3e", "issuer": "https://op1.att.com", "created_at": 1800000000}]}
                        """)
            ]),
        APIOperation(
            .delete, "/users/me/identities/{id}", "unlinkIdentity", .account, .session, "Remove a way to sign in",
            "Never the last one. Sessions stay: end them too if a phone was lost.",
            parameters: [.path("id", .text("As in the list of identities.", example: "9f3e"))], responses: [.done],
            refusals: [
                APIRefusal(SignInError.noSuchIdentity, as: "identity_unknown"),
                APIRefusal(SignInError.lastIdentity),
            ]),
        APIOperation(
            .post, "/users/me/identities", "linkIdentity", .account, .session, "Add a way to sign in",
            """
            With a fresh code of the other provider, as for a sign-in; at a provider of kind `camara` with an \
            `operator_token`, at one of kind `firebase_pnv` with a `token`, and at one of kind `aggregator` with the \
            `sign_in_id` of a start and the `vp_token`. The session's own sign-in must be recent. The \
            same request may be sent again within a minute, if it has a `code_verifier`.
            """,
            body: .init(
                schema: "IdentityToLink",
                example: """
                    {"provider": "acme", "client_id": "ccid-example", "code": "\(APIExample.code)", \
                    "redirect_uri": "com.example.app://callback", "code_verifier": "\(APIExample.verifier)"}
                    """),
            responses: [
                linked(.created, "The identity, which is now the user's."),
                linked(.ok, "The identity, which was the user's already."),
            ],
            refusals: APIRefusal.ofCarriers + APIRefusal.ofOperators + [
                .providerUnknown, APIRefusal(SignInError.identityTaken, as: "identity_taken"), signInTooOld,
                .otherClientAtSignIn,
            ]),
        APIOperation(
            .post, "/auth/{provider}/link", "startLink", .account, .browserSession,
            "Add a way to sign in, by redirects",
            """
            For a page of this server's own origin, whose session is in cookies. It ends at `redirect_uri` with \
            `action=link&status=success` or \
            `action=link&status=failure&message=…&error=…&error_description=…&correlation_id=…`. Only the session that \
            started it can finish it. A refusal is a page for a person, unless JSON is asked for.
            """,
            body: .init(
                schema: "LinkStart",
                example: #"{"client_type": "web", "redirect_uri": "https://web.example/settings"}"#),
            responses: [.redirect(), .startLocation],
            refusals: [
                .providerUnknown, .carrierError, signInTooOld, .carrierTimeout, .providersOwnCode,
                .otherClientAtSignIn,
            ]),
    ]

    private static let signInTooOld = APIRefusal(.signInTooOld(LinkingSettings().maximumAge))

    private static func linked(_ status: HTTPResponse.Status, _ description: String) -> APIOperation.Response {
        .json(
            description, .named("LinkedIdentity"), status: status,
            example: """
                {"id": "9f3e", "issuer": "https://login.acme.example", "created_at": 1800000000, \
                "correlation_id": "\(APIExample.correlationID)"}
                """)
    }

    package static let schemas: KeyValuePairs<String, APISchema> = [
        "Identity": .object("One of the user's ways to sign in.", identityFields),
        "LinkedIdentity": .object(
            "A way to sign in that was added.",
            identityFields + APISchema.fields(["correlation_id": APISchema.correlationID])),
        "IdentityToLink": .object(
            "A sign-in, to be added to the user: with a `code`; at a provider of kind `camara` with an "
                + "`operator_token` in its place, and at one of kind `firebase_pnv` with a `token`.",
            APISchema.fields(["provider": .text("An `id` of `GET /auth/providers`.", example: "zenkey")])
                + APISchema.codeOrTokenFields + APISchema.networkFields),
        "LinkStart": .object(
            "A link by redirects: the fields of a start.",
            APISchema.startFields(
                of: ["web", "popup"], end: "Where the link ends: one of the client's.", "https://web.example/done")),
    ]

    private static let identityFields = APISchema.fields([
        "id": .text("For `DELETE /users/me/identities/{id}`."),
        "issuer": .text("The issuer that vouches for the user.", example: "https://op1.att.com"),
        "created_at": .seconds("When it was added"),
    ])
}
