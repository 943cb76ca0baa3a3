import OpenIDConnect
import Primitives
import SignIn

extension RegistrationForm {
    /// Reads a registration from a body's fields. A `password`, which the example apps send, is
    /// not looked at.
    /// - Throws: 400 that names every field that is missing or of the wrong type.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let handle = reader.visibleText("state_key", ["zenkey_sub"], limit: 512, required: true)
        let codeVerifier = reader.codeVerifier()
        let username = reader.text("username", limit: 1024)
        let name = reader.text("name", limit: 1024)
        let givenName = reader.text("given_name", limit: 1024)
        let familyName = reader.text("family_name", limit: 1024)
        let email = reader.text("email", limit: 1024)
        let phoneNumber = reader.text("phone", ["phone_number"], limit: 1024)
        let postalCode = reader.text("postal_code", limit: 1024)
        guard reader.problems.isEmpty, let handle else {
            throw reader.refusal(correlationID)
        }
        self.init(handle: Secret(handle))
        self.codeVerifier = codeVerifier
        self.username = username
        self.name = name
        self.givenName = givenName
        self.familyName = familyName
        self.email = email
        self.phoneNumber = phoneNumber
        self.postalCode = postalCode
        self.correlationID = correlationID
    }
}
