import HTTPTypes
import SignIn

extension APIOperation {
    static let ofRedirects: [APIOperation] = [
        APIOperation(
            .get, "/auth/providers", "listProviders", .redirects, .open, "List the ways to sign in",
            "For the buttons of a frontend.",
            answers: [
                .json(
                    .ok, "All that are configured.",
                    .object(
                        "The list.",
                        [
                            .required("providers", .list("The providers.", of: .named("Provider"))),
                            .optional("demo", demonstration),
                        ]),
                    example: """
                        {"providers": [{"id": "zenkey", "name": "ZenKey", "kind": "zenkey", \
                        "start_url": "https://login.example.com/auth/zenkey/start"}]}
                        """)
            ]),
        start,
        APIOperation(
            .get, "/sign-in", "signInPage", .redirects, .browser, "The ways to sign in, as a page",
            """
            For browsers without scripts: a link for each client that has `{public_url}/sign-in` among its \
            `redirect_uris`, and, where a sign-in has ended there, how it went.
            """,
            parameters: [
                .query("action", .text("What has ended.", choices: ["login", "register", "logout"])),
                .query("status", .text("How it ended.", choices: ["success", "partial", "failure"])),
                .query("error", .text("Why it failed.", example: "access_denied")),
            ],
            answers: [
                Answer(
                    status: .ok, description: "The page.", contentType: "text/html", schema: .text("A page"),
                    headers: ["Cache-Control"])
            ]),
        APIOperation(
            .post, "/sign-out", "signOutByForm", .sessions, .browser, "Sign out, by the form of that page",
            "Ends the session of the cookies, and goes back to `/sign-in`. Only a page of this origin can ask for it.",
            answers: [
                Answer(
                    status: .seeOther, description: "The browser goes back there.",
                    headers: ["Location", "Cache-Control", "Set-Cookie"])
            ], refusals: [APIRefusal(.crossSiteRequest, as: "cross_site_request")]),
        finish,
        finish.also(
            at: "/auth/{provider}/{client_type}/callback", "finishRedirectOfKind", added: [clientTypeInPath],
            "`client_type` is not looked at."),
        passOn,
        passOn.also(
            at: "/auth/{provider}/{client_type}/callback", "passOnFormOfKind", added: [clientTypeInPath],
            "`client_type` is not looked at."),
        APIOperation(
            .get, "/auth/popup.js", "popupScript", .redirects, .open, "The script of a popup's last page",
            "Posts the outcome to the opener, at its registered origin only, and closes the window.",
            answers: [
                Answer(
                    status: .ok, description: "The script.", contentType: "text/javascript",
                    schema: .text("JavaScript"), headers: ["Cache-Control"])
            ]),
        APIOperation(
            .post, "/auth/session", "takeSession", .redirects, .keyOrPage,
            "Get the session of a sign-in in the browser",
            """
            For apps, which are redirected with a `session_id`: good once, for two minutes. `code_verifier` where the app \
            sent a `code_challenge` at the start.
            """,
            body: Body(
                schema: "OneTimeSessionCode",
                example: #"{"session_id": "\#(APIExample.handle)", "code_verifier": "\#(APIExample.verifier)"}"#),
            answers: [.handed()],
            refusals: [
                APIRefusal(
                    .invalidToken, .invalidRequest,
                    "session_id is unknown, was used, or has expired. Start a new sign-in.", as: "session_id_unknown"),
                APIRefusal(
                    .refusedByCarrier("invalid_grant"), .requestDenied,
                    "code_verifier is not that of the code_challenge the sign-in was started with. Start a new sign-in.",
                    as: "code_verifier_wrong"),
            ]),
    ]

    private static let demonstration = APISchema.object(
        "Of a demonstration only: what a page needs to play the phone and the service.",
        [
            .required("carriers_url", .text("Where the simulated carriers are.", example: "http://127.0.0.1:8081")),
            .required("api_key", .text("The key of the demonstration, which is no secret.", example: "demo-key")),
        ])

    private static let clientTypeInPath = Parameter.path("client_type", .text("`web`, `ios`, …", example: "web"))

    static let onward = Answer(
        status: .seeOther, description: "The browser goes on there.",
        headers: ["Location", "Cache-Control", "Set-Cookie"])

    static let place = Answer.json(
        .ok, "The place, for `Accept: application/json`.",
        .object(
            "Where to send the browser.",
            [
                .required("location", .text("A URL.")),
                .required("expires_in", .span("How long the sign-in may take", example: 600)),
            ]), example: #"{"location": "https://carrier.example/authorize?…", "expires_in": 600}"#,
        headers: ["Set-Cookie"])

    private static let start = APIOperation(
        .get, "/auth/{provider}/start", "startRedirect", .redirects, .browser, "Begin a sign-in in the browser",
        """
        Sends the browser to the choice of the carrier, or with `mccmnc` straight to the carrier. With \
        `Accept: application/json` the place is answered instead. Latchkey makes and keeps `state`, `nonce` and the code \
        verifier of the authorization request. A refusal is a page for a person, unless JSON is asked for.
        """,
        parameters: [
            .provider,
            .query(
                "client_type", isRequired: true,
                .text("What kind of frontend it is.", choices: ["web", "spa", "ios", "android", "popup"])),
            .query(
                "redirect_uri", isRequired: true,
                .visible("Where it ends: one of the client's.", upTo: 2048, example: "https://web.example/done")),
            .query("client_id", .text("Where there is more than one client.", example: "ccid-example")),
            .query("mccmnc", .text("Picks the carrier.", pattern: "^[0-9]{5,6}$", example: "310410")),
            .query("scope", .text("Words of the client's `scopes`.", example: "openid email")),
            .query("acr_values", .text("The levels of assurance wanted.", example: "a1")),
            .query("context", .text("What the user is shown: at most 280 characters.")),
            .query("prompt", .text("As in OpenID Connect.", example: "login")),
            .query("login_hint", .text("Who is expected.")),
            .query(
                "code_challenge",
                .text(
                    "Of a verifier for `POST /auth/session`; required for `spa`.", pattern: "^[A-Za-z0-9_-]{43}$",
                    example: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")),
            .query("code_challenge_method", .text("With `code_challenge`.", choices: ["S256"])),
            .query(
                "correlation_id", .text("What the sign-in is called in the logs.", example: APIExample.correlationID)),
            .query("tracking_id", .visible("Comes back in the outcome.", upTo: 128, example: "t-1")),
        ],
        answers: [
            onward,
            place,
        ],
        refusals: [
            .providerUnknown, .carrierError,
            APIRefusal(.carrierTimeout, .requestTimeout, "The carrier did not answer in time. Try again."),
            APIRefusal(
                .refusedByCarrier("user_unsupported"), .discoveryStateError,
                "The carrier does not serve this user here.", as: "code_of_the_carrier", isCarriersOwn: true),
        ])

    private static let finish = APIOperation(
        .get, "/auth/{provider}/callback", "finishRedirect", .redirects, .browser, "End a sign-in in the browser",
        """
        Where carriers send browsers back to. It ends at the `redirect_uri` of the start with `action=login&status=success`, \
        `action=register&status=partial&state_key=…` or `action=login&status=failure&message=…&error=…`. Where nobody can \
        be told so, the person gets a page.
        """,
        parameters: [.provider] + APISchema.authorizationResponseFields.map { .query($0.name, $0.schema) },
        answers: [
            onward,
            Answer(
                status: .ok, description: "For `client_type=popup`: a page that tells its opener, and closes.",
                contentType: "text/html", schema: .text("A page"), headers: ["Cache-Control", "Set-Cookie"]),
        ],
        refusals: APIRefusal.ofCarriers + [
            .providerUnknown,
            APIRefusal(
                .invalidRequest, .requestDenied,
                "This sign-in was started in another browser, or cookies are off. Allow cookies and start a new sign-in "
                    + "here.", as: "other_browser"),
        ])

    private static let passOn = APIOperation(
        .post, "/auth/{provider}/callback", "passOnForm", .redirects, .browser, "End a sign-in, with a form",
        "For `response_mode=form_post`: sends the browser to the same place with the form's fields in the query.",
        parameters: [.provider],
        body: Body(
            schema: "AuthorizationAnswer", example: #"{"state": "af0ifjsldkj", "code": "SplxlOBeZQQYbYS6WxSbIA"}"#,
            isFormOnly: true),
        answers: [
            Answer(
                status: .seeOther, description: "The browser goes on there.", headers: ["Location", "Cache-Control"])
        ], refusals: [.providerUnknown])
}
