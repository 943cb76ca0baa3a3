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
        handleName = reader.sentName("state_key")
        self.correlationID = correlationID
        codeChallenge = reader.codeVerifier()?.challenge
        attributes = reader.attributes(names: &attributeNames)
        try reader.check(correlationID)
    }
}

extension FieldReader {
    /// The attributes of a registration.
    /// - Parameters:
    ///   - aliases: Further names of an attribute.
    ///   - names: Gets the names of those that were sent under another than their first one.
    mutating func attributes(
        _ aliases: [UserAttribute: [String]] = [:], names: inout UserAttributes<String>
    ) -> UserAttributes<String> {
        var attributes = UserAttributes<String>()
        for attribute in UserAttribute.allCases {
            let name = attribute.registrationName
            let others = (attribute.rawValue == name ? [] : [attribute.rawValue]) + (aliases[attribute] ?? [])
            attributes[attribute] = text(name, others, limit: 1024)
            names[attribute] = sentNames[name]
        }
        return attributes
    }
}
