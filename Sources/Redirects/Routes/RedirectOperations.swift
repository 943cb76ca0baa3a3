import HTTPTypes
package import LatchkeyAPI
import SignIn

extension RedirectsFeature {
    package static let operations: [APIOperation] = [
        APIOperation(
            .get, "/auth/providers", "listProviders", .redirects, .open, "List the ways to sign in",
            "For the buttons of a frontend.",
            responses: [
                .json(
                    "All configured providers, without those for backchannel authentication alone.",
                    .object(
                        "The list.", ["providers": .list("The providers.", of: .named("Provider"))],
                        optional: ["demo": demonstration]),
                    example: """
                        {"providers": [{"id": "zenkey", "name": "ZenKey", "kind": "zenkey", \
                        "start_url": "https://login.example.com/auth/zenkey/start"}]}
                        """)
            ]), start, startForApp, initiate, initiateByForm,
        APIOperation(
            .get, "/sign-in", "signInPage", .redirects, .browser, "The ways to sign in, as a page",
            """
            For browsers without scripts: a link for each client that has `{public_url}/sign-in` among its \
            `redirect_uris`, and the outcome of a sign-in that ended there.
            """,
            parameters: [
                .query("rd", .text("Where the browser goes on after it has signed in, if that is allowed.")),
                .query("action", .text("What has ended.", choices: ["login", "logout"])),
                .query("status", .text("How it ended.", choices: ["success", "failure"])),
                .query("error", .text("Why it failed.", example: "access_denied")),
            ],
            responses: [.text("text/html", "The page.", setsCookie: true), .redirect()]),
        APIOperation(
            .post, "/sign-in", "renewByForm", .sessions, .browser, "Renew the session, by the form of that page",
            "Exchanges the refresh token of the cookies, and returns to `/sign-in`. Only pages of this origin may.",
            responses: [.redirect()], refusals: [.crossSite]),
        APIOperation(
            .post, "/sign-out", "signOutByForm", .sessions, .browser, "Sign out, by the form of that page",
            "Ends the session of the cookies, and returns to `/sign-in`. Only a page of this origin may send it.",
            responses: [.redirect()], refusals: [.crossSite]), finish, ofKind(finish), finishByForm,
        ofKind(finishByForm),
        APIOperation(
            .get, "/auth/popup.js", "popupScript", .redirects, .open, "The script of a popup's last page",
            "Posts the outcome to the opener, at its registered origin only, and closes the window.",
            responses: [.text("text/javascript", "The script.")]),
        APIOperation(
            .get, "/auth/form-post.js", "formPostScript", .redirects, .open,
            "The script of the page that sends a form again", "Sends the page's form.",
            responses: [.text("text/javascript", "The script.")]),
        APIOperation(
            .post, "/auth/session", "takeSession", .redirects, .keyOrPage,
            "Get the session of a sign-in in the browser",
            """
            For apps, which are redirected with a `session_id`: usable once, for two minutes; with the \
            verifier also again by the same caller, until the refresh token is used. `code_verifier` if the \
            app sent a `code_challenge` at the start.
            """,
            body: APIOperation.Body(
                schema: "OneTimeSessionCode",
                example: #"{"session_id": "\#(APIExample.handle)", "code_verifier": "\#(APIExample.verifier)"}"#),
            responses: [.session()],
            refusals: [
                APIRefusal(SignInError.sessionCodeUnknown, as: "session_id_unknown"),
                APIRefusal(SignInError.sessionCodeVerifierWrong, as: "code_verifier_wrong"),
            ]),
    ]

    package static let schemas = APISchema.ofRedirects

    private static let demonstration = APISchema.object(
        "In the demonstration only: what a page needs to act as the phone and as the service.",
        [
            "carriers_url": .text("Where the simulated carriers are.", example: "http://127.0.0.1:8081"),
            "api_key": .text("The key of the demonstration, which is not secret.", example: "demo-key"),
        ])

    private static func ofKind(_ operation: APIOperation) -> APIOperation {
        operation.also(
            at: "/auth/{provider}/{client_type}/callback", operation.id + "OfKind",
            added: [.path("client_type", .text("`web`, `ios`, …", example: "web"))], "`client_type` is not used.")
    }

    private static let start = APIOperation(
        .get, "/auth/{provider}/start", "startRedirect", .redirects, .browser, "Begin a sign-in in the browser",
        """
        Sends the browser to the choice of the carrier, or with `mccmnc` straight to the carrier. With `Accept: \
        application/json` the response has the location instead. Latchkey makes and keeps `state`, `nonce` and the \
        code verifier of the authorization request. Parameters of the names that `request_parameters` lists go to the \
        provider. A refusal is a page for a person, unless JSON is asked for.
        """,
        parameters: APISchema.startFields(
            of: ["web", "spa", "ios", "android", "popup"], end: "Where the sign-in ends: one of the client's.",
            "https://web.example/done", inQuery: true
        ).inQuery,
        responses: [.redirect(), .startLocation],
        refusals: [
            .providerUnknown, .carrierError, .carrierTimeout, .providersOwnCode, .operatorUnknown, .otherClientAtSignIn,
        ])

    private static let startForApp = APIOperation(
        .post, "/auth/{provider}/start", "startForApp", .redirects, .keyOrPage, "Begin a sign-in of an app",
        """
        As `startRedirect`, for apps that open the location themselves. Nothing of the request is in an address, so it \
        may have `phone_number`: a provider of kind `camara` with a Telco Finder finds the mobile operator by it. With \
        an `operator_token` or a `token` no browser is needed: the start is a sign-in then, as `signIn`. At a provider \
        of kind `aggregator`, and with the `method` `digital_credential` at one of kind `camara`, the phone's digital \
        credential is awaited: `confirmSignIn` ends the sign-in. For that, or with a token, a page of this server's \
        own origin sends the `client_type` `web`.
        """,
        body: APIOperation.Body(
            schema: "AppStart",
            example: """
                {"client_type": "ios", "redirect_uri": "com.example.app://callback", "phone_number": "+12025550123"}
                """),
        responses: [
            .json(
                "The location, or the session of a sign-in with a token.",
                .anyOf(
                    "With a token one of the latter two; the last for a page.",
                    [
                        .object(
                            "Where to send the browser.",
                            [
                                "location": .text("A URL."),
                                "expires_in": .span("Time left for the sign-in", example: 600),
                            ]),
                        .named("TokenResponse"), .named("PageSession"),
                    ]), example: #"{"location": "https://carrier.example/authorize?…", "expires_in": 600}"#,
                headers: ["Set-Cookie"]),
            .json(
                "A digital credential is awaited.",
                .object(
                    "What the app needs for the phone.",
                    APISchema.fields([
                        "sign_in_id": .text("To confirm the sign-in, once.", example: APIExample.handle),
                        "correlation_id": APISchema.correlationID,
                    ]) + APISchema.preparedCredential), status: .created,
                example: """
                    {"sign_in_id": "\(APIExample.handle)", "strategy": "link", "expires_in": 300, \
                    "authorization_url": "https://aggregator.example/a", \
                    "correlation_id": "\(APIExample.correlationID)"}
                    """),
        ],
        refusals: APIRefusal.ofCarriers + APIRefusal.ofOperators + [
            .mustRegister, .unlinkedUser, .otherClientAtSignIn, .providerUnknown,
        ])

    private static let initiate = APIOperation(
        .get, "/auth/{provider}/initiate-login", "initiateLogin", .redirects, .browser,
        "Begin a sign-in that a third party initiates",
        """
        The provider, or another site, sends the browser here (OpenID Connect Core section 4). The sign-in is as one \
        that begins with `startRedirect` for `client_type=web`. 404 unless `initiate_login_client` is set.
        """,
        parameters: APISchema.loginInitiationFields.inQuery,
        responses: [.redirect(), .startLocation],
        refusals: [.providerUnknown, .carrierError, .carrierTimeout, .providersOwnCode, .otherClientAtSignIn])

    private static let initiateByForm = APIOperation(
        .post, "/auth/{provider}/initiate-login", "initiateLoginByForm", .redirects, .browser,
        "Begin a sign-in that a third party initiates, with a form",
        "Checks the form, and has the browser ask again by `GET`, because it sends no cookie with another site's form.",
        body: APIOperation.Body(
            schema: "LoginInitiation", example: #"{"iss": "https://acme.example", "login_hint": "jane@example.com"}"#,
            isFormOnly: true),
        responses: [.redirect()], refusals: [.providerUnknown])

    private static let finish = APIOperation(
        .get, "/auth/{provider}/callback", "finishRedirect", .redirects, .browser, "End a sign-in in the browser",
        """
        Providers send browsers back here. The sign-in ends at the `redirect_uri` of the start with \
        `action=login&status=success`, `action=register&status=partial&state_key=…` or \
        `action=login&status=failure&message=…&error=…&error_description=…&correlation_id=…`. If there is no frontend \
        to redirect to, the person gets a page. From `{public_url}/sign-in`, a user who must register gets to \
        `/register`.
        """,
        parameters: APISchema.authorizationResponseFields.inQuery,
        responses: [
            .redirect(),
            .text(
                "text/html", "For `client_type=popup`: a page that reports to its opener, and closes.",
                setsCookie: true),
        ],
        refusals: APIRefusal.ofCarriers + [
            .providerUnknown,
            APIRefusal(SignInError.issuerMixedUp),
            APIRefusal(SignInError.otherBrowser, as: "other_browser"),
        ])

    private static let finishByForm = APIOperation(
        .post, "/auth/{provider}/callback", "finishRedirectByForm", .redirects, .browser, "End a sign-in, with a form",
        """
        For `response_mode=form_post`: as `finishRedirect`, with the parameters in a form. A browser sends no cookie \
        with another site's form; then a page sends the form once more, so that the code never is in an address.
        """,
        body: APIOperation.Body(
            schema: "AuthorizationResponse", example: #"{"state": "af0ifjsldkj", "code": "\#(APIExample.code)"}"#,
            isFormOnly: true),
        responses: [
            .redirect(),
            .text(
                "text/html", "A page that sends the form again, or, for `client_type=popup`, reports to its opener.",
                setsCookie: true),
        ], refusals: finish.refusals)
}

extension APISchema {
    static let ofRedirects: KeyValuePairs<String, APISchema> = [
        "AppStart": object(
            "A start of an app. Without a token, `client_type` and `redirect_uri` are required.",
            startFields(
                of: ["ios", "android", "web"], end: "Where the sign-in ends: one of the client's.",
                "com.example.app://callback"
            ).map(\.ifPresent) + numberTokenFields + strategyField
                + fields(optional: ["nonce": text("If sent, `token` must have it.")])),
        "OneTimeSessionCode": object(
            "What the app was redirected with.",
            ["session_id": visible("Also `sessionId`.", upTo: 64, example: APIExample.handle)],
            optional: ["code_verifier": codeVerifier, "client_type": pageClientType]),
        "LoginInitiation": object("A third party's request to sign in.", loginInitiationFields),
        "AuthorizationResponse": object(
            "What the provider sends with the browser.",
            authorizationResponseFields
                + fields(optional: [
                    "sent_again": text("Set by the page that sends the form again.", example: "true")
                ])),
    ]

    static let loginInitiationFields =
        fields([
            "iss": visible("The provider's issuer.", upTo: 2048, example: "https://acme.example")
        ])
        + fields(optional: [
            "login_hint": text("The expected user.", example: "jane@example.com"),
            "target_link_uri": visible(
                "Where the sign-in ends: one of the client's `redirect_uris` for pages; by default the first one.",
                upTo: 2048, example: "https://web.example/done"),
        ])

    static let authorizationResponseFields = fields(optional: [
        "state": visible("Identifies the sign-in.", upTo: 256),
        "code": text("The authorization code.", pattern: "^[ -~]*$", lengths: 0...16_384),
        "error": text("Why there is no code.", example: "access_denied"),
        "iss": text("The issuer of the response (RFC 9207).", example: "https://op1.att.com"),
        "mccmnc": text("The carrier that was chosen.", pattern: "^[0-9]{5,6}$", example: "310410"),
        "login_hint_token": visible("From the choice of the carrier, on a secondary device.", upTo: 4096),
        "response": visible(
            "In place of all others: a signed JWT that has them (JARM).",
            upTo: AuthorizationResponse.maximumSignedBytes),
    ])
}
