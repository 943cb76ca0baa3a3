import OpenIDConnect
import Primitives
import SignIn

extension RegistrationForm {
    /// Reads a registration from a body's fields. A `password`, which the example apps send, is ignored.
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        self.init(handle: Secret(reader.visibleText("state_key", ["zenkey_sub"], limit: 512, required: true) ?? ""))
        self.correlationID = correlationID
        codeVerifier = reader.codeVerifier()
        attributes = reader.attributes()
        try reader.check(correlationID)
    }
}

extension FieldReader {
    /// The attributes of a registration.
    /// - Parameter aliases: Further names of an attribute.
    mutating func attributes(_ aliases: [UserAttribute: [String]] = [:]) -> UserAttributes<String> {
        var attributes = UserAttributes<String>()
        for attribute in UserAttribute.allCases {
            let name = attribute.registrationName
            let others = (attribute.rawValue == name ? [] : [attribute.rawValue]) + (aliases[attribute] ?? [])
            attributes[attribute] = text(name, others, limit: 1024)
        }
        return attributes
    }
}
