import HTTPTypes
import SignIn

extension APIOperation {
    static let ofAccount: [APIOperation] = [
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
    ]

    private static let shownUser = APISchema.anyOf(
        "`AndroidUser` with `compat.android`.", [.named("User"), .named("AndroidUser")])

    /// Further ways to sign in.
    static let ofLinking: [APIOperation] = [
        APIOperation(
            .post, "/users/me/identities", "linkIdentity", .account, .session, "Add a way to sign in",
            """
            With a fresh code of the other provider, as for a sign-in; at a provider of kind `camara` with an \
            `operator_token`. The session's own sign-in must be recent. The same request may be sent again within a \
            minute, if it has a `code_verifier`.
            """,
            body: Body(
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
                .providerUnknown, identityTaken, .signInTooOld, .otherClientAtSignIn,
            ])
    ]

    private static func linked(_ status: HTTPResponse.Status, _ description: String) -> Response {
        .json(
            description, .named("LinkedIdentity"), status: status,
            example: """
                {"id": "9f3e", "issuer": "https://login.acme.example", "created_at": 1800000000, \
                "correlation_id": "\(APIExample.correlationID)"}
                """)
    }

    private static let identityTaken = APIRefusal(SignInError.identityTaken, as: "identity_taken")
}
