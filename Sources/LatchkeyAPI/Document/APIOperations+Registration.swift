import HTTPTypes
import SignIn

extension APIOperation {
    static let ofRegistration: [APIOperation] = [
        register, register.also(at: "/auth/register", "registerAtAuth", "This is `/users` under another name."),
    ]

    private static let register = APIOperation(
        .post, "/users", "register", .registration, .keyOrPage, "Register a user",
        """
        Ends a sign-in that was answered with `user_not_registered`. A `password`, which the published example apps send, is \
        neither looked at nor kept.
        """,
        body: Body(
            schema: "Registration",
            example: #"{"state_key": "\#(APIExample.handle)", "name": "Jane Doe", "email": "jane@example.com"}"#),
        answers: [.handed(.created, "The user is registered, and signed in.")],
        refusals: [
            APIRefusal(
                .invalidToken, .invalidRequest,
                "state_key is unknown, was used, or has expired. Sign in again to get a new one.",
                as: "state_key_unknown"),
            .emailDomainBlocked,
            APIRefusal(
                .userAlreadyExists, .invalidRequest, "This user is registered already. Sign in instead."),
        ])
}
