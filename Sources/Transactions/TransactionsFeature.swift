package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Storage

/// The part of `transactions` that is not about the keys of receipts. Times are in seconds.
package struct TransactionSettings: FeatureSettings {
    /// The maximum age of the user's authentication, without the clock skew.
    package var maximumAuthenticationAge: Int64 = 300
    /// How long a receipt is valid; at most an hour.
    package var receiptLifetime: Int64 = 300

    package init() {}

    package static let settings = [
        Setting(
            "transactions.max_auth_age", .seconds(1...86_400), \TransactionSettings.maximumAuthenticationAge,
            "How long ago the user who approves a transaction may have authenticated."),
        Setting(
            "transactions.receipt_lifetime", .seconds(10...3600), \.receiptLifetime,
            "How long the receipt of a transaction can be redeemed."),
    ]
}

/// Transactions (docs/approvals.md): their approval, and their receipts.
package struct TransactionsFeature: Feature {
    let settings: TransactionSettings
    /// The `iss` of receipts.
    let issuer: String
    let store: SQLStore
    let onceOnly = OnceOnly()

    package init(_ settings: TransactionSettings, in context: FeatureContext) {
        self.settings = settings
        issuer = context.configuration.issuer ?? "latchkey"
        store = context.store
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let approvals = TransactionApprovals(feature: self, useCases: api.useCases)
        router.post(
            "/auth/{provider}/authorize",
            api.changing { api, request, caller in
                let target = try api.useCases.providers.find(
                    withoutOperators: request.provider,
                    instead: "Verify the number of the user's device at /users/me/phone/verifications.")
                let transaction = try SignInRequest(
                    BodyFields(request, from: caller.admission), at: target, isTransaction: true)
                try caller.admission.check(transaction.clientID.text)
                let (receipt, signed, correlationID) = try await approvals.authorize(
                    transaction, token: caller.token, session: caller.holder)
                return .json(.ok, capacity: 1024) { json in
                    json.add("authorized", true)
                    json.add("context", receipt.context)
                    json.add("acr", receipt.acr)
                    json.add("auth_time", receipt.authTime.secondsSinceEpoch)
                    json.add("receipt", signed.exposed)
                    json.add("expires_in", settings.receiptLifetime)
                    json.add("correlation_id", correlationID.text)
                }
            })
        router.post(
            "/auth/receipts/redeem",
            api.admitting(.service) { _, request, admission in
                var reader = FieldReader(try BodyFields(request, from: admission))
                let text = reader.visibleText("receipt", limit: Receipt.maximumBytes, required: true)
                guard let text, reader.problems.isEmpty else { throw reader.refusal() }
                return try await approvals.redeem(Secret(text), clients: admission.clients).response
            })
    }
}

extension Receipt {
    /// What it says, under the names that it has in the JWT.
    fileprivate var response: Response {
        .json(.ok, capacity: 512) { json in
            json.add("redeemed", true)
            write(to: &json)
        }
    }
}

extension TransactionsFeature {
    package static let operations: [APIOperation] = [
        APIOperation(
            .post, "/auth/{provider}/authorize", "authorizeTransaction", .transactions, .session,
            "Authorize a transaction",
            """
            A signed-in user approved something at the provider: redeems the code and checks that it was this user, \
            this `context`, one of these `acr_values`, and recent. A code makes one receipt, and cannot be sent again.
            """,
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
