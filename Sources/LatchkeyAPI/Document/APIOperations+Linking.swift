import HTTPTypes
import SignIn

extension APIOperation {
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
