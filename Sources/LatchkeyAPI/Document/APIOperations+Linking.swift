import HTTPTypes
import SignIn

extension APIOperation {
    /// More than one way to sign in, and what providers have for their users.
    static let ofLinking: [APIOperation] = [
        APIOperation(
            .post, "/users/me/identities", "linkIdentity", .account, .session, "Add a way to sign in",
            """
            With a fresh code of the other provider, as for a sign-in. The session's own sign-in must be recent. The very \
            same request may be sent again within a minute.
            """,
            body: Body(
                schema: "IdentityToLink",
                example: """
                    {"provider": "acme", "client_id": "ccid-example", "code": "SplxlOBeZQQYbYS6WxSbIA", \
                    "redirect_uri": "com.example.app://callback", "code_verifier": "\(APIExample.verifier)"}
                    """),
            answers: [
                linked(.created, "The identity, which is the user's now."),
                linked(.ok, "The identity, which was the user's before."),
            ],
            refusals: APIRefusal.ofCarriers + [.providerUnknown, identityTaken, signInTooOld]),
        APIOperation(
            .post, "/auth/{provider}/link", "startLink", .account, .browserSession,
            "Add a way to sign in, by redirects",
            """
            For a page of this server's own origin, whose session is in cookies. It ends at `redirect_uri` with \
            `action=link&status=success` or `action=link&status=failure&message=…&error=…`. Only the session that asks \
            can finish it. A refusal is a page for a person, unless JSON is asked for.
            """,
            parameters: [.provider],
            body: Body(
                schema: "LinkStart",
                example: #"{"client_type": "web", "redirect_uri": "https://web.example/settings"}"#),
            answers: [onward, place],
            refusals: [
                .providerUnknown, .carrierError, signInTooOld,
                APIRefusal(.carrierTimeout, .requestTimeout, "The carrier did not answer in time. Try again."),
                APIRefusal(
                    .refusedByCarrier("user_unsupported"), .discoveryStateError,
                    "The carrier does not serve this user here.", as: "code_of_the_carrier", isCarriersOwn: true),
            ]),
        APIOperation(
            .get, "/auth/{provider}/resources/{name}", "showResource", .account, .session,
            "Show what a provider has for the user",
            "With the provider's stored tokens, which are renewed when they have to be. The answer is the provider's JSON.",
            parameters: [
                .provider,
                .path("name", .text("One of the provider's `resources` in the configuration.", example: "zak")),
            ],
            answers: [
                .json(
                    .ok, "The provider's JSON as it is.",
                    .anyOf(
                        "An object or an array.",
                        [
                            .object("Of the provider's own form.", [], isOpen: true),
                            .list("Of the provider's own form.", of: .anyOf("Whatever it is.", [.anything])),
                        ]), example: #"{"token": "eyJ6bV9za20iOiJ6bV9vMm0ifQ"}"#)
            ],
            refusals: [
                .providerUnknown, .carrierError,
                APIRefusal(
                    .grantMissing, .requestDenied,
                    "Nothing of this provider is stored for this user and this client. Have the user sign in with the "
                        + "provider."),
                APIRefusal(
                    .grantRevoked, .requestDenied,
                    "The provider has ended what the user agreed to, or the user has taken it back. Have the user sign in "
                        + "with the provider again."),
                APIRefusal(
                    .carrierTimeout, .requestTimeout, "The provider did not answer in time. Try again later."),
            ]),
    ]

    private static func linked(_ status: HTTPResponse.Status, _ description: String) -> Answer {
        .json(
            status, description, .named("LinkedIdentity"),
            example: """
                {"id": "9f3e", "issuer": "https://login.acme.example", "created_at": 1800000000, \
                "correlation_id": "b0e5-41"}
                """)
    }

    private static let identityTaken = APIRefusal(
        .userAlreadyExists, .requestDenied,
        "This identity belongs to another user already. Nothing was changed. Sign in with it to use that account.")

    private static let signInTooOld = APIRefusal(
        .insufficientUserAuthentication, .requestDenied,
        "To add a way to sign in, the user must have signed in within the last 900 seconds. Sign in again first.")
}
