import HTTPTypes

extension APIOperation {
    private static let signInBody = """
        {"client_id": "ccid-example", "code": "SplxlOBeZQQYbYS6WxSbIA", "mccmnc": "310410", \
        "redirect_uri": "com.example.app://callback", "code_verifier": "\(APIExample.verifier)", "nonce": "n-0S6_WzA2Mj"}
        """

    static let ofSignIn: [APIOperation] = [
        signIn,
        signIn.also(
            at: "/auth/zenkey-signin", "signInWithZenKey",
            "This is `/auth/zenkey/sign-in` under the name that the "
                + "published example apps call."),
        APIOperation(
            .post, "/auth/{provider}/attempts", "issueNonce", .signIn, .key, "Get a nonce for a sign-in",
            """
            Optional, unless the client is configured with `nonce: issued`: then a sign-in is taken only with a nonce from \
            here, once. The body, if there is one, is not looked at.
            """,
            parameters: [.provider],
            answers: [
                .json(
                    .ok, "Values for the authorization request.",
                    .object(
                        "Both are random, and good once.",
                        [
                            .required("nonce", .text("For the authorization request and the sign-in.")),
                            .required("state", .text("For the authorization request.")),
                            .required("expires_in", .span("How long they are good", example: 600)),
                        ]), example: #"{"nonce": "n-0S6_WzA2Mj", "state": "af0ifjsldkj", "expires_in": 600}"#)
            ], refusals: [.providerUnknown]),
    ]

    private static let signIn = APIOperation(
        .post, "/auth/{provider}/sign-in", "signIn", .signIn, .key, "Sign in with an authorization code",
        """
        Redeems the code at the user's carrier, checks the ID token, and answers with a session of Latchkey's own. Whoever \
        lost the answer may send the very same request again within 60 seconds.
        """,
        parameters: [.provider], body: Body(schema: "SignIn", example: signInBody),
        answers: [.tokens(.ok, "The user is signed in.")],
        refusals: APIRefusal.ofCarriers + [.mustRegister, .otherClient, .providerUnknown])
}
