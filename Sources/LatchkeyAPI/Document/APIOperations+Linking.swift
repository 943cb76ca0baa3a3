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
                .providerUnknown, identityTaken, signInTooOld, .otherClientAtSignIn,
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
            parameters: [.provider],
            body: Body(
                schema: "LinkStart",
                example: #"{"client_type": "web", "redirect_uri": "https://web.example/settings"}"#),
            responses: [.redirect(), startLocation],
            refusals: [
                .providerUnknown, .carrierError, signInTooOld, .carrierTimeout, .providersOwnCode, .otherClientAtSignIn,
            ]),
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

    private static let signInTooOld = APIRefusal(
        .signInTooOld(SignInConfiguration.Lifetimes().signInToLink))
}
