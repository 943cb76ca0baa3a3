import HTTPTypes
import SignIn

extension APIOperation {
    static let ofSessions: [APIOperation] = [
        APIOperation(
            .post, "/auth/token", "refresh", .sessions, .refresh, "Refresh a session",
            """
            Gives new tokens for a refresh token, which is spent by it. Whoever shows a spent one ends the session, except \
            that the very same refresh is answered again for 30 seconds: an answer that was lost, or two windows at once, \
            sign nobody out. 503 says nothing of the token: send the same request again. A page of this server's own origin \
            shows its refresh cookie alone.
            """,
            body: Body(
                schema: "Refresh",
                example: #"{"grant_type": "refresh_token", "refresh_token": "\#(APIExample.refreshToken)"}"#),
            answers: [.handed(.ok, "New tokens of the same session.")],
            refusals: [
                APIRefusal(.unsupportedGrantType(nil)),
                APIRefusal(
                    .invalidGrant, .requestDenied,
                    "The refresh token is unknown, expired, revoked, used before, or of another client. Sign in again.",
                    as: "refresh_token_worth_nothing"),
                APIRefusal(.sessionMissing, as: "session_missing"),
            ]),
        APIOperation(
            .delete, "/auth/token", "signOut", .sessions, .session, "Sign out",
            "Ends the session that is shown, with both of its tokens.",
            answers: [.done.settingCookie]),
        APIOperation(
            .get, "/users/me/sessions", "listSessions", .sessions, .session, "List the user's sessions",
            "The latest seen first, at most 200.",
            answers: [
                .json(
                    .ok, "All sessions of the user.",
                    .object("The list.", [.required("sessions", .list("The sessions.", of: .named("Session")))]),
                    example: """
                        {"sessions": [{"id": "7d2c", "client_id": "ccid-example", "device": "Firefox on Windows", \
                        "created_at": 1800000000, "last_seen_at": 1800000300, "expires_at": 1801209600, "current": true}]}
                        """)
            ]),
        APIOperation(
            .delete, "/users/me/sessions", "revokeOtherSessions", .sessions, .session, "End all other sessions",
            "All but the one that asks.",
            answers: [
                .json(
                    .ok, "They are ended.",
                    .object("How many.", [.required("revoked", .integer("So many sessions were ended.", from: 0))]),
                    example: #"{"revoked": 2}"#)
            ]),
        APIOperation(
            .delete, "/users/me/sessions/{id}", "revokeSession", .sessions, .session, "End one session",
            "Any of the user's own.",
            parameters: [.path("id", .text("As in the list of sessions.", example: "7d2c"))], answers: [.done],
            refusals: [
                APIRefusal(
                    .notFound, .invalidRequest, "You have no session of this id. List your sessions to see their ids.",
                    as: "session_unknown")
            ]),
    ]
}

extension APIOperation.Answer {
    /// With a cookie that comes or goes.
    var settingCookie: Self {
        var answer = self
        answer.headers.append("Set-Cookie")
        return answer
    }
}
