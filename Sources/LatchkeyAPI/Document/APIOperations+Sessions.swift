import HTTPTypes
import SignIn

extension APIOperation {
    static let ofSessions: [APIOperation] = [
        APIOperation(
            .post, "/auth/token", "refresh", .sessions, .refresh, "Refresh a session",
            """
            Exchanges a refresh token, usable once, for new tokens. Reuse of a used token revokes the session. For 30 \
            seconds the same refresh gets the same response, so that neither a lost response nor two windows that \
            refresh at once sign the user out. After 503, send the same request again: the token may still be \
            valid. A page of this server's own origin sends only its refresh cookie.
            """,
            body: Body(
                schema: "Refresh",
                example: #"{"grant_type": "refresh_token", "refresh_token": "\#(APIExample.refreshToken)"}"#),
            responses: [.session(.ok, "New tokens of the same session.")],
            refusals: [
                APIRefusal(APIError.unsupportedGrantType(nil)),
                APIRefusal(SignInError.refreshTokenInvalid, as: "refresh_token_worth_nothing"),
                APIRefusal(APIError.sessionMissing, as: "session_missing"),
            ]),
        APIOperation(
            .delete, "/auth/token", "signOut", .sessions, .session, "Sign out", "Revokes both tokens of the session.",
            responses: [.doneAndCookie]),
        APIOperation(
            .get, "/users/me/sessions", "listSessions", .sessions, .session, "List the user's sessions",
            "The last seen first, at most 200.",
            responses: [
                .json(
                    "All sessions of the user.",
                    .object("The list.", ["sessions": .list("The sessions.", of: .named("Session"))]),
                    example: """
                        {"sessions": [{"id": "7d2c", "client_id": "ccid-example", "device": "Firefox on Windows", \
                        "created_at": 1800000000, "last_seen_at": 1800000300, "expires_at": 1801209600, "current": \
                        true}]}
                        """)
            ]),
        APIOperation(
            .delete, "/users/me/sessions", "revokeOtherSessions", .sessions, .session, "End all other sessions",
            "All but the calling session.",
            responses: [
                .json(
                    "They are ended.",
                    .object("The count.", ["revoked": .integer("The number of sessions ended.", from: 0)]),
                    example: #"{"revoked": 2}"#)
            ]),
        APIOperation(
            .delete, "/users/me/sessions/{id}", "revokeSession", .sessions, .session, "End one session",
            "Any of the user's own.",
            parameters: [.path("id", .text("As in the list of sessions.", example: "7d2c"))], responses: [.done],
            refusals: [
                APIRefusal(SignInError.noSuchSession, as: "session_unknown")
            ]),
    ]
}
