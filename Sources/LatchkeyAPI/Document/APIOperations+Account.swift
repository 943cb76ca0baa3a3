import HTTPTypes

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
    ]

    private static let shownUser = APISchema.anyOf(
        "`AndroidUser` with `compat.android`.", [.named("User"), .named("AndroidUser")])
}
