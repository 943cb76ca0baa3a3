import HTTPServer
import HTTPTypes
package import LatchkeyAPI
import OpenIDConnect
import Primitives
package import SignIn
import StorageModel

/// The routes for verifications of a signed-in user's phone number (docs/verified-numbers.md).
extension VerifyPhoneNumber {
    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.post("/users/me/phone/verifications", api.changing { try await verify($0, $1, $2) })
        router.get(
            "/users/me/phone/verifications/{id}",
            api.signedIn { _, request, caller in
                try await outcome(request.parameters["id"] ?? "", for: caller.holder).response
            })
        router.post(
            "/users/me/phone/verifications/{id}/confirmation", api.changing { try await confirm($1, $2) })
    }

    private func verify(_ api: LatchkeyAPI, _ request: Request, _ caller: SignedInCaller) async throws -> Response {
        let question = try Question(
            BodyFields(request, from: caller.admission), caller: api.terms(of: request, caller.admission))
        switch question.means {
        case .operatorToken(let token): return try await self(question, with: token, for: caller.holder).response
        case .redirect(let redirectURI):
            let (id, url, seconds, correlationID) = try await startVerification(
                question, redirectURI: redirectURI, publicURL: try api.publicURL(), for: caller.holder)
            return .json(.created, capacity: 1024) { json in
                json.add("verification_id", id)
                json.add("status", "pending")
                json.add("authorization_url", url)
                json.add("expires_in", seconds)
                json.add("correlation_id", correlationID.text)
            }
        }
    }

    private func confirm(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        var reader = FieldReader(try BodyFields(request, from: caller.admission))
        let correlationID = reader.correlationID()
        let confirmation = reader.visibleText("confirmation", limit: 64, required: true)
        guard reader.problems.isEmpty, let confirmation else { throw reader.refusal(correlationID) }
        return try await confirm(
            request.parameters["id"] ?? "", with: Secret(confirmation), correlationID: correlationID,
            for: caller.holder
        ).response
    }
}

extension VerifyPhoneNumber.Outcome {
    fileprivate var response: Response {
        .json(.ok, capacity: 256) { json in
            json.add("verification_id", id)
            switch state {
            case .pending(let pending):
                json.add("status", "pending")
                json.add("phone_number", orNull: pending.phoneNumber)
                json.add("operator", pending.operatorName)
                json.add("checked_at", json: "null")
                json.add("sim_swapped", json: "null")
            case .ended(let verification):
                json.add("status", verification.status.rawValue)
                json.add("phone_number", orNull: verification.phoneNumber)
                json.add("operator", verification.operatorName)
                json.add("checked_at", verification.checkedAt.secondsSinceEpoch)
                json.add("sim_swapped", json: verification.simSwapped.map { $0 ? "true" : "false" } ?? "null")
                json.add("error", ifPresent: verification.error)
            }
            json.add("correlation_id", ifPresent: correlationID?.text)
        }
    }
}

extension VerifyPhoneNumber.Question {
    /// Reads a verification from a body's fields.
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields, caller: CallerTerms) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let phoneNumber = reader.visibleText("phone_number", ["phoneNumber"], limit: 16)
        let provider = reader.visibleText("provider", limit: 32)
        let hasToken = reader.has("operator_token") || reader.has("operatorToken")
        let token = hasToken ? reader.operatorToken() : nil
        // An app that sends an operator token needs no browser.
        let redirectURI = reader.redirectURI(required: !hasToken)
        var choice = reader.operatorChoice()
        choice.caller = caller
        try reader.check(correlationID)
        self.init(
            means: token.map { .operatorToken($0) } ?? .redirect(to: redirectURI ?? ""), phoneNumber: phoneNumber,
            provider: provider, choice: choice, correlationID: correlationID, sentNames: reader.sentNames)
    }
}

extension PhoneVerificationFeature {
    /// Reads a sign-in with a TS.43 temporary token.
    /// - Throws: 400 that names every missing or malformed field; `unauthorized_client`; `operator_unknown`; what the
    ///   lookup of a number throws.
    package func signInRequest(
        _ fields: BodyFields, at provider: Provider, of api: LatchkeyAPI, terms: CallerTerms, caller: Caller?,
        device: String?
    ) async throws -> SignInRequest? {
        guard let operators = provider.mobileOperators else { return nil }
        let environment = api.useCases.environment
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let token = reader.operatorToken()
        var choice = reader.operatorChoice()
        choice.number = reader.phoneNumber()
        choice.caller = terms
        try reader.check(correlationID)
        let target = try await OperatorDirectory(operators: operators, environment: environment).choose(
            choice, .operatorToken, correlationID ?? .random(from: environment.random))
        let clientID = reader.clientID(at: target.server)
        guard reader.problems.isEmpty, let clientID, let token else { throw reader.refusal(correlationID) }
        return SignInRequest(
            provider: target.reference, clientID: clientID, code: token, standsInForCode: true,
            correlationID: correlationID, sentNames: reader.sentNames, caller: caller, device: device)
    }
}

extension FieldReader {
    fileprivate mutating func operatorToken() -> Secret? {
        guard has("operator_token") || has("operatorToken") else {
            return refused("operator_token", "is missing: at a provider of kind camara it is sent in place of a code")
        }
        return visibleText("operator_token", ["operatorToken"], limit: 4096, required: true).map { Secret($0) }
    }

    /// The mobile operator: by its name, by a network, or by both.
    fileprivate mutating func operatorChoice() -> OperatorChoice {
        OperatorChoice(name: operatorName(), network: network(required: false))
    }
}
