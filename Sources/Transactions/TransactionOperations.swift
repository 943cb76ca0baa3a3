import HTTPTypes
package import LatchkeyAPI
import Primitives
import SignIn

extension TransactionsFeature {
    package static let operations: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/authorize", "authorizeTransaction", .transactions, .session,
            "Authorize a transaction",
            """
            A signed-in user approved something at the provider: redeems the code and checks that it was this user, \
            this `context`, one of these `acr_values`, and recent. A code makes one receipt, and cannot be sent again.
            """,
            parameters: [.provider],
            body: APIOperation.Body(
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
            body: APIOperation.Body(schema: "ReceiptToRedeem", example: #"{"receipt": "\#(APIExample.jwt)"}"#),
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
    ]

    package static let schemas: KeyValuePairs<String, APISchema> = [
        "TransactionApproval": .object(
            "A sign-in with a code for a transaction.",
            [:], APISchema.signInFields(isTransaction: true), APISchema.networkFields),
        "ApprovedTransaction": .object(
            "The provider has confirmed that the user approved the transaction.",
            ["authorized": .always(.bool(true), "Always.")], receiptClaims,
            APISchema.fields([
                "receipt": .text("A JWT for your service, which redeems it once."),
                "expires_in": .span("Lifetime of the receipt", example: 300),
                "correlation_id": APISchema.correlationID,
            ])),
        "ReceiptToRedeem": .object(
            "A receipt.", ["receipt": .visible("A JWT.", upTo: Receipt.maximumBytes, example: APIExample.jwt)]),
        "RedeemedReceipt": .object(
            "The claims of a receipt that is now spent.",
            [
                "redeemed": .always(.bool(true), "Always."),
                "iss": .text("`public_url`, or `latchkey`."), "sub": APISchema.publicID,
                "aud": .text("The `client_id` of the app."), "jti": .text("The id of this receipt."),
                "iat": .seconds("When it was issued"), "exp": .seconds("When it expires"),
            ], receiptClaims),
    ]

    private static let receiptClaims = APISchema.fields([
        "context": .text("The text that the user approved."),
        "acr": .text("The level of assurance.", example: "a3"), "auth_time": .seconds("When the user approved it"),
    ])
}
