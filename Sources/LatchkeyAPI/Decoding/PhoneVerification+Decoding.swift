import OpenIDConnect
import Primitives
import SignIn

extension VerifyPhoneNumber.Question {
    /// Reads a verification from a body's fields.
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let phoneNumber = reader.visibleText("phone_number", ["phoneNumber"], limit: 16)
        let provider = reader.visibleText("provider", limit: 32)
        let token = reader.operatorToken()
        let choice = reader.operatorChoice()
        guard reader.problems.isEmpty, let token else { throw reader.refusal(correlationID) }
        self.init(operatorToken: token, choice: choice)
        self.phoneNumber = phoneNumber
        self.provider = provider
        self.correlationID = correlationID
    }
}
