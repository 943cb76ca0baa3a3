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
    private let settings: TransactionSettings
    /// The `iss` of receipts.
    private let issuer: String
    private let store: SQLStore
    private let onceOnly = OnceOnly()

    package init(_ settings: TransactionSettings, in context: FeatureContext) {
        self.init(settings, issuer: context.configuration.publicURL?.text, store: context.store)
    }

    /// - Parameter issuer: Nil for `latchkey`.
    init(_ settings: TransactionSettings = TransactionSettings(), issuer: String? = nil, store: SQLStore) {
        self.settings = settings
        self.issuer = issuer ?? "latchkey"
        self.store = store
    }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let (environment, keys, settings) = (api.useCases.environment, api.useCases.signingKeys, settings)
        let authorize = AuthorizeTransaction(
            environment: environment, settings: settings, issuer: issuer, store: store, keys: keys, onceOnly: onceOnly)
        router.post(
            "/auth/{provider}/authorize",
            api.changing { api, request, caller in
                let target = try api.useCases.providers.find(
                    withoutOperators: request.provider,
                    instead: "Verify the number of the user's device at /users/me/phone/verifications.")
                let transaction = try SignInRequest(
                    BodyFields(request, from: caller.admission), at: target, isTransaction: true)
                try caller.admission.check(transaction.clientID.text)
                let (receipt, signed, correlationID) = try await authorize(
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
        let redeem = RedeemReceipt(environment: environment, keys: keys, store: store)
        router.post(
            "/auth/receipts/redeem",
            api.admitting(.service) { _, request, admission in
                var reader = FieldReader(try BodyFields(request, from: admission))
                let text = reader.visibleText("receipt", limit: Receipt.maximumBytes, required: true)
                guard let text, reader.problems.isEmpty else { throw reader.refusal() }
                return try await redeem(Secret(text), clients: admission.clients).response
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
