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
}
