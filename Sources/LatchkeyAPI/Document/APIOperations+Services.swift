import HTTPTypes
import SignIn

extension APIOperation {
    static let ofTransactions: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/authorize", "authorizeTransaction", .transactions, .session,
            "Authorize a transaction",
            """
            A signed-in user has approved something at the carrier: redeems the code and checks that it was this user, \
            this `context`, one of these `acr_values`, and recent. A code makes one receipt, and cannot be sent again.
            """,
            parameters: [.provider],
            body: Body(
                schema: "TransactionApproval",
                example: APIExample.signIn(#", "context": "Pay $200 to Jane", "acr_values": "a3""#)),
            responses: [
                .json(
                    "The approval, with its receipt.", .named("ApprovedTransaction"),
                    example: """
                        {"authorized": true, "context": "Pay $200 to Jane", "acr": "a3", "auth_time": 1800000000, \
                        "receipt": "\(APIExample.jwt)", "expires_in": 300, "correlation_id": \
                        "\(APIExample.correlationID)"}
                        """)
            ], refusals: APIRefusal.ofCarriers + [.providerUnknown]),
        APIOperation(
            .post, "/auth/receipts/redeem", "redeemReceipt", .transactions, .service, "Redeem a receipt",
            """
            For your service, before it carries the transaction out: checks the receipt, and spends it. After 503 the \
            receipt may have been spent.
            """,
            body: Body(schema: "ReceiptToRedeem", example: #"{"receipt": "\#(APIExample.jwt)"}"#),
            responses: [
                .json(
                    "The receipt was valid, and is now spent.", .named("RedeemedReceipt"),
                    example: """
                        {"redeemed": true, "iss": "https://login.example.com", "sub": "u_8KfX2mQ0", "aud": \
                        "ccid-example", "jti": "c1Yx", "iat": 1800000000, "exp": 1800000300, "context": "Pay $200 to \
                        Jane", "acr": "a3", "auth_time": 1800000000}
                        """)
            ],
            refusals: [
                APIRefusal(SignInError.unknownReceipt, as: "receipt_worth_nothing"),
                APIRefusal(SignInError.usedReceipt),
            ]),
        APIOperation(
            .get, "/.well-known/jwks.json", "showSigningKeys", .transactions, .open, "Latchkey's public keys",
            """
            The keys that verify receipts, and those of clients with a `private_key`, which verify client assertions \
            and signed requests. May be cached for an hour.
            """,
            parameters: [.ifNoneMatch],
            responses: [
                Response(
                    status: .ok, description: "A JSON Web Key Set.", contentType: "application/jwk-set+json",
                    schema: .named("KeySet"),
                    example: """
                        {"keys": [{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", \
                        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "use": "sig", "alg": "ES256", "kid": \
                        "4b1f"}]}
                        """, headers: ["Cache-Control", "ETag"]),
                Response(status: .notModified, description: "Unchanged.", headers: ["Cache-Control", "ETag"]),
            ]),
    ]

    static let ofServices: [APIOperation] = [
        APIOperation(
            .post, "/auth/introspect", "introspect", .services, .service, "Introspect a token",
            """
            RFC 7662. A refresh token is `active` only if `token_type_hint` is `refresh_token`, so that it is never \
            taken for a session token.
            """,
            body: Body(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#),
            responses: [
                .json(
                    "Whether the token is valid, and its user.", .named("Introspection"),
                    example: """
                        {"active": true, "token_type": "bearer", "exp": 1800003600, "client_id": "ccid-example", \
                        "sub": "u_8KfX2mQ0", "user_id": 7, "auth_time": 1800000000, "session_id": "7d2c"}
                        """)
            ]),
        APIOperation(
            .post, "/auth/revoke", "revokeToken", .services, .service, "Revoke the session of a token",
            "RFC 7009. The response is the same whether there was such a session or not.",
            body: Body(schema: "TokenQuestion", example: #"{"token": "\#(APIExample.token)"}"#), responses: [.done]),
    ]
}
