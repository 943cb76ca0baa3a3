import HTTPTypes

extension APIOperation {
    static let ofServices: [APIOperation] = [
        APIOperation(
            .post, "/auth/introspect", "introspect", .services, .service, "Ask about a token",
            """
            RFC 7662. A refresh token is `active` only where `token_type_hint` is `refresh_token`, so that nobody takes one \
            for a session token.
            """,
            body: Body(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#),
            answers: [
                .json(
                    .ok, "Whether it is good, and whose it is.", .named("Introspection"),
                    example: """
                        {"active": true, "token_type": "bearer", "exp": 1800003600, "client_id": "ccid-example", \
                        "sub": "u_8KfX2mQ0", "user_id": 7, "auth_time": 1800000000, "session_id": "7d2c"}
                        """)
            ]),
        APIOperation(
            .post, "/auth/revoke", "revokeToken", .services, .service, "End the session of a token",
            "RFC 7009. The answer is the same whether there was such a session or not.",
            body: Body(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#), answers: [.done]),
    ]
}
