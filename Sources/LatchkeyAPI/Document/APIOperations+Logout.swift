import HTTPTypes
import SignIn

extension APIOperation {
    static let ofLogout: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/logout", "signOutAtProvider", .sessions, .session, "Sign out, at the provider too",
            """
            Ends the session, and says where the browser goes: to the provider, which ends its own session and sends the \
            browser back; or at once to `post_logout_redirect_uri` if the provider has no place for that.
            """,
            parameters: [.provider],
            body: Body(
                schema: "SignOut", example: #"{"post_logout_redirect_uri": "https://web.example/signed-out"}"#),
            answers: [
                onward,
                .json(
                    .ok, "The place, for `Accept: application/json`.",
                    .object("Where to send the browser.", [.required("location", .text("A URL."))]),
                    example: #"{"location": "https://login.acme.example/end-session?client_id=…"}"#,
                    headers: ["Set-Cookie"]),
            ],
            refusals: [.providerUnknown]),
        APIOperation(
            .get, "/auth/{provider}/logged-out", "returnFromLogout", .sessions, .open,
            "Come back from the provider's logout",
            "Where providers send browsers back to; it goes on to the `post_logout_redirect_uri` of the logout.",
            parameters: [.provider, .query("state", .visible("Which logout it is.", upTo: 256))],
            answers: [
                Answer(
                    status: .seeOther, description: "The browser goes on there.",
                    headers: ["Location", "Cache-Control"]),
                Answer(
                    status: .ok, description: "For an unknown `state`: a page that says that the user is signed out.",
                    contentType: "text/html", schema: .text("A page"), headers: ["Cache-Control"]),
            ]),
        APIOperation(
            .post, "/auth/{provider}/backchannel-logout", "receiveLogout", .sessions, .open, "Be told of a logout",
            """
            For OpenID providers (Back-Channel Logout 1.0). The token says who sends it, and which sessions end: of its \
            `sid`, or all of its `sub`. 200 also where there is none.
            """,
            parameters: [.provider],
            body: Body(
                schema: "BackchannelLogout", example: #"{"logout_token": "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"}"#,
                isFormOnly: true),
            answers: [.done],
            refusals: [
                .providerUnknown, .carrierError,
                APIRefusal(.carrierTimeout, .requestTimeout, "The provider did not answer in time. Try again."),
            ]),
    ]
}
