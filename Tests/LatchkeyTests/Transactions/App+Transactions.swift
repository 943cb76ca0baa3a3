import TestSupport

extension App {
    func authorize(_ fields: [String: String], _ token: String?) async throws -> Answer {
        let session = token.map { ["Authorization: Bearer \($0)"] } ?? []
        return try await send(
            "POST", "/auth/zenkey/authorize", headers: ["Content-Type: application/json"] + session,
            body: App.json(fields))
    }

    func redeem(_ receipt: String) async throws -> Answer {
        try await send(
            "POST", "/auth/receipts/redeem", headers: ["Content-Type: application/json"],
            body: App.json(["receipt": receipt]))
    }

    /// A receipt reader of a service without an API key.
    func receiptReader() async throws -> ReceiptReader {
        var service = self
        service.apiKey = nil
        return try ReceiptReader(keySet: try await service.send("GET", "/.well-known/jwks.json").response.body)
    }
}

extension SignInHarness {
    static let context = "Do you want to authorize a $200 transfer to your checking account?"

    /// The app's fields after the user's approval of a transaction.
    func transaction(acr: String = "a3", context: String? = context, user: String? = nil) throws -> [String: String] {
        try authorizedResponse(acr: acr, context: context, user: user)
    }

    func session(user: String? = nil) async throws -> String? {
        try await app.signIn(try authorizedResponse(user: user)).token
    }
}
