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

    static let ofPhoneVerification: [APIOperation] = [
        APIOperation(
            .post, "/users/me/phone/verifications", "verifyPhoneNumber", .account, .session,
            "Verify the user's phone number",
            """
            Asks the mobile operator of the device whether it has the number. Telco Finder finds the operator by the \
            number, at a provider that has it, if neither `operator` nor `mccmnc` is sent. With an `operator_token`, \
            which the app got from the operator, the response is the outcome. Without one, the app opens \
            `authorization_url` on the device, over the mobile network; the browser ends at `redirect_uri` with \
            `action=verify_phone&verification_id=…&status=pending&confirmation=…`, and the app posts the \
            `confirmation`. A confirmed number becomes the user's `phone_number`, verified; any other outcome changes \
            nothing.
            """,
            body: Body(
                schema: "PhoneVerificationQuestion",
                example: """
                    {"phone_number": "+12025550123", "operator": "northwind", \
                    "redirect_uri": "com.example.app://callback"}
                    """),
            responses: [
                .json("The outcome.", .named("PhoneVerification"), example: APIExample.phoneVerification),
                .json(
                    "The verification waits for the browser.", .named("PhoneVerificationStarted"), status: .created,
                    example: APIExample.startedPhoneVerification),
            ],
            refusals: [
                .operatorUnknown, .carrierError, .carrierTimeout, .providersOwnCode, .providerUnknown,
                .otherClientAtSignIn,
                APIRefusal(SignInError.operatorTokenUsed, as: "operator_token_used"),
            ]),
        APIOperation(
            .get, "/users/me/phone/verifications/{id}", "showPhoneVerification", .account, .session,
            "Read a verification again",
            "For a day, and for the session that asked only. It is `pending` until that session has confirmed it.",
            parameters: [id],
            responses: [
                .json("The verification.", .named("PhoneVerification"), example: APIExample.phoneVerification)
            ], refusals: [unknown]),
        APIOperation(
            .post, "/users/me/phone/verifications/{id}/confirmation", "confirmPhoneVerification", .account, .session,
            "Confirm a verification by redirects",
            """
            Only the session that asked can do it, within two minutes, and once. The outcome takes effect by this \
            call. The third wrong confirmation ends the verification.
            """,
            parameters: [id],
            body: Body(
                schema: "PhoneVerificationConfirmation", example: #"{"confirmation": "\#(APIExample.handle)"}"#),
            responses: [.json("The outcome.", .named("PhoneVerification"), example: APIExample.phoneVerification)],
            refusals: [
                unknown,
                APIRefusal(SignInError.confirmationWrong, as: "confirmation_wrong"),
            ]),
    ]

    private static let id = Parameter.path("id", .text("The `verification_id`.", example: APIExample.handle))

    private static let unknown = APIRefusal(SignInError.noSuchVerification, as: "verification_unknown")
}
