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
