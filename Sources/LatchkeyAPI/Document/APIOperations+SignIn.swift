import HTTPTypes

extension APIOperation {
    static let ofSignIn: [APIOperation] = [
        signIn(
            .keyOrPage, .session(.ok, "The user is signed in."), APIRefusal.ofCarriers + APIRefusal.ofOperators,
            """


            At a provider of kind `camara` the body has an `operator_token` in place of a code. A page of this \
            server's own origin sends `client_type`, and gets cookies instead of tokens.
            """),
        // Carriers have no refusals of operators, and the example apps know none.
        signIn(
            .key, .json("The user is signed in.", .named("TokenResponse"), example: APIExample.tokens),
            APIRefusal.ofCarriers
        ).also(
            at: "/auth/zenkey-signin", "signInWithZenKey",
            "This is `/auth/zenkey/sign-in` under the name that the published example apps use."),
        APIOperation(
            .post, "/auth/{provider}/attempts", "issueAttempt", .signIn, .key, "Get a nonce for a sign-in",
            """
            Optional, unless the client is configured with `nonce: issued`: then a sign-in needs a nonce from here, \
            usable once. A body is ignored.
            """,
            parameters: [.provider],
            responses: [
                .json(
                    "Values for the authorization request.",
                    .object(
                        "Both are random and usable once.",
                        [
                            "nonce": .text("For the authorization request and the sign-in."),
                            "state": .text("For the authorization request."),
                            "expires_in": .span("Lifetime of both", example: 600),
                        ]), example: #"{"nonce": "\#(APIExample.nonce)", "state": "af0ifjsldkj", "expires_in": 600}"#)
            ], refusals: [.providerUnknown, .otherClientAtSignIn]),
    ]

    /// - Parameter refusals: Those of the providers that the path can name.
    private static func signIn(
        _ access: Access, _ response: Response, _ refusals: [APIRefusal], _ more: String = ""
    ) -> APIOperation {
        APIOperation(
            .post, "/auth/{provider}/sign-in", "signIn", .signIn, access, "Sign in with an authorization code",
            """
            Redeems the code at the user's provider, checks the ID token, and returns a Latchkey session. If the \
            response was lost, the same caller may send the same request again within 60 seconds, if it has a \
            `code_verifier`.
            """ + more,
            parameters: [.provider],
            body: Body(schema: "SignIn", example: APIExample.signIn(#", "nonce": "\#(APIExample.nonce)""#)),
            responses: [response],
            refusals: refusals + [.mustRegister, .unlinkedUser, .otherClientAtSignIn, .providerUnknown])
    }
}
