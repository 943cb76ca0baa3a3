import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn

/// A verification of the signed-in user's phone number, as an app asks for it.
struct PhoneVerificationRequest {
    /// How the device is authenticated.
    enum Means {
        /// By the SIM, over any network.
        case operatorToken(Secret)
        /// Over the mobile network, by a browser that ends at this redirect URI.
        case redirect(to: String)
    }

    let question: VerifyPhoneNumber.Question
    let means: Means

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
        var question = VerifyPhoneNumber.Question(choice: reader.operatorChoice())
        try reader.check(correlationID)
        question.phoneNumber = phoneNumber
        question.choice.caller = caller
        question.provider = provider
        question.correlationID = correlationID
        question.sentNames = reader.sentNames
        self.question = question
        means = token.map { .operatorToken($0) } ?? .redirect(to: redirectURI ?? "")
    }
}

extension SignInRequest {
    /// Reads a sign-in with a TS.43 temporary token from a body's fields.
    /// - Throws: 400 that names every missing or malformed field; `unauthorized_client`; `operator_unknown`; what the
    ///   lookup of a number throws.
    convenience init(
        operatorTokenIn fields: BodyFields, at directory: OperatorDirectory, terms: CallerTerms, caller: Caller?,
        device: String?
    ) async throws {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let token = reader.operatorToken()
        var choice = reader.operatorChoice()
        choice.number = reader.phoneNumber()
        choice.caller = terms
        try reader.check(correlationID)
        let target = try await directory.choose(
            choice, .operatorToken, correlationID ?? .random(from: directory.environment.random))
        let clientID = reader.clientID(at: target.server)
        guard reader.problems.isEmpty, let clientID, let token else { throw reader.refusal(correlationID) }
        self.init(
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
        let name = operatorName()
        return OperatorChoice(name: name, network: has("mccmnc") || has("mcc") || has("mnc") ? network() : nil)
    }
}
