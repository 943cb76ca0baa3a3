import HTTPTypes
import SignIn

extension APIOperation {
    static let ofTransactions: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/authorize", "authorizeTransaction", .transactions, .session,
            "Have a transaction approved",
            """
            A signed-in user has approved something at the carrier: redeems the code and checks that it was this user, this \
            `context`, one of these `acr_values`, just now. A code makes one receipt, and cannot be sent again.
            """,
            parameters: [.provider],
            body: Body(
                schema: "TransactionApproval",
                example: """
                    {"client_id": "ccid-example", "code": "SplxlOBeZQQYbYS6WxSbIA", "mccmnc": "310410", \
                    "redirect_uri": "com.example.app://callback", "code_verifier": "\(APIExample.verifier)", \
                    "context": "Pay $200 to Jane", "acr_values": "a3"}
                    """),
            answers: [
                .json(
                    .ok, "The approval, with its receipt.", .named("ApprovedTransaction"),
                    example: """
                        {"authorized": true, "context": "Pay $200 to Jane", "acr": "a3", "auth_time": 1800000000, \
                        "receipt": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln", "expires_in": 300, \
                        "correlation_id": "\(APIExample.correlationID)"}
                        """)
            ], refusals: APIRefusal.ofCarriers + [.providerUnknown]),
        APIOperation(
            .post, "/auth/receipts/redeem", "redeemReceipt", .transactions, .service, "Redeem a receipt",
            """
            For your service, before it carries the transaction out: checks the receipt, and spends it. 503 cannot tell: the \
            receipt may have been spent.
            """,
            body: Body(schema: "ReceiptToRedeem", example: #"{"receipt": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"}"#),
            answers: [
                .json(
                    .ok, "It was good, and is spent now.", .named("RedeemedReceipt"),
                    example: """
                        {"redeemed": true, "iss": "https://login.example.com", "sub": "u_8KfX2mQ0", "aud": "ccid-example", \
                        "jti": "c1Yx", "iat": 1800000000, "exp": 1800000300, "context": "Pay $200 to Jane", "acr": "a3", \
                        "auth_time": 1800000000}
                        """)
            ],
            refusals: [
                APIRefusal(
                    .invalidToken, .invalidRequest,
                    "The receipt was redeemed before. Do not carry the transaction out a second time.",
                    as: "receipt_worth_nothing")
            ]),
        APIOperation(
            .get, "/.well-known/jwks.json", "showSigningKeys", .transactions, .open, "The public keys of receipts",
            "May be kept for an hour.",
            answers: [
                Answer(
                    status: .ok, description: "A JSON Web Key Set.", contentType: "application/jwk-set+json",
                    schema: .named("KeySet"),
                    example: """
                        {"keys": [{"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", \
                        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0", "use": "sig", "alg": "ES256", "kid": "4b1f"}]}
                        """, headers: ["Cache-Control"])
            ]),
    ]
}
