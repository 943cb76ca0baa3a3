import HTTPTypes
import SignIn

extension APIOperation {
    /// Verifications of the signed-in user's phone number.
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
                    .created, "The verification waits for the browser.", .named("PhoneVerificationStarted"),
                    example: APIExample.startedPhoneVerification),
            ],
            refusals: [
                .operatorUnknown, .carrierError, .carrierTimeout, .carriersOwnCode, .providerUnknown,
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
