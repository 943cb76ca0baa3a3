import HTTPTypes
import SignIn

extension APIOperation {
    static let ofAccount: [APIOperation] = [
        APIOperation(
            .get, "/users/me", "showUser", .account, .session, "Show the signed-in user",
            "Also the way to find out whether a session is good.",
            answers: [.json(.ok, "The user.", .named("User"), example: APIExample.user)]),
        APIOperation(
            .patch, "/users/me", "editUser", .account, .session, "Edit the profile",
            """
            What is left out stays; null, or an empty text, clears. All that is wrong is named at once, and then nothing \
            changes.
            """,
            body: Body(schema: "ProfileEdit", example: #"{"name": "Jane Doe", "postal_code": null}"#),
            answers: [.json(.ok, "The user as they are now.", .named("User"), example: APIExample.user)],
            refusals: [.emailDomainBlocked]),
        APIOperation(
            .delete, "/users/me", "eraseUser", .account, .session, "Erase the account",
            "The user, with identities, sessions, tokens and profile. There is no way back.",
            answers: [.done.settingCookie]),
        APIOperation(
            .get, "/users/me/identities", "listIdentities", .account, .session, "List the ways the user signs in",
            "Without the carrier's subject, which is never shown.",
            answers: [
                .json(
                    .ok, "All identities of the user.",
                    .object("The list.", [.required("identities", .list("The identities.", of: .named("Identity")))]),
                    example: """
                        {"identities": [{"id": "9f3e", "issuer": "https://op1.att.com", "created_at": 1800000000}]}
                        """)
            ]),
        APIOperation(
            .delete, "/users/me/identities/{id}", "unlinkIdentity", .account, .session, "Take away a way to sign in",
            "Never the last one. Sessions stay: end them too if a phone was lost.",
            parameters: [.path("id", .text("As in the list of identities.", example: "9f3e"))], answers: [.done],
            refusals: [
                APIRefusal(
                    .notFound, .invalidRequest,
                    "You have no identity of this id. List your identities to see their ids.", as: "identity_unknown"),
                APIRefusal(
                    .lastIdentity, .invalidRequest,
                    "This is your last identity: without it you could not sign in. Erase the account instead, if that is "
                        + "meant."),
            ]),
    ]
}
