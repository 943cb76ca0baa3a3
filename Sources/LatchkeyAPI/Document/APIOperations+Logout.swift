import HTTPTypes
import SignIn

extension APIOperation {
    static let ofLogout: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/logout", "signOutAtProvider", .sessions, .session, "Sign out, at the provider too",
            """
            Ends the session, and sends the browser to the provider, which ends its own session and sends the browser \
            back; or straight to `post_logout_redirect_uri` if the provider has no end-session endpoint.
            """,
            parameters: [.provider],
            body: Body(
                schema: "SignOut", example: #"{"post_logout_redirect_uri": "https://web.example/signed-out"}"#),
            responses: [
                .redirect(),
                .location(example: #"{"location": "https://login.acme.example/end-session?client_id=…"}"#),
            ],
            refusals: [.providerUnknown]),
        APIOperation(
            .get, "/auth/{provider}/logged-out", "returnFromLogout", .sessions, .open,
            "Return from the provider's logout",
            "Providers send browsers back here. The browser continues at the `post_logout_redirect_uri` of the logout.",
            parameters: [.provider, .query("state", .visible("Identifies the logout.", upTo: 256))],
            responses: [
                .redirect(setsCookie: false),
                .text("text/html", "For an unknown `state`: a page that says that the user is signed out."),
            ]),
        APIOperation(
            .post, "/auth/{provider}/backchannel-logout", "receiveLogout", .sessions, .open, "Receive a logout",
            """
            For OpenID providers (Back-Channel Logout 1.0). The token authenticates the sender and names the sessions \
            to end: those of its `sid`, or all of its `sub`. 200 also if there are none.
            """,
            parameters: [.provider],
            body: Body(
                schema: "BackchannelLogout", example: #"{"logout_token": "\#(APIExample.jwt)"}"#, isFormOnly: true),
            responses: [.done], refusals: [.providerUnknown, .carrierError, .carrierTimeout]),
    ]
}
