import OpenIDConnect
package import Primitives
import SignIn

extension ProfileEdit {
    private static let fixed =
        ["user_id", "zenkey_sub", "sub", "created_at"]
        + ["email", "phone_number"].flatMap { name in ["", "_at", "_by"].map { "\(name)_verified\($0)" } }
        + ConsentedClaim.allCases.map(\.rawValue)
    private static let editable = UserAttribute.allCases.flatMap {
        Set([$0.rawValue, $0.registrationName]).sorted(by: >)
    }

    /// Reads an edit from a body's fields, as a merge patch (RFC 7396): a missing field stays, null clears it. So does
    /// an empty text, because a form has no null.
    /// - Throws: 400 that names every field of the wrong type, and every field that cannot be changed.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        self.init()
        for attribute in UserAttribute.allCases {
            let alias = attribute.registrationName
            attributes[attribute] = reader.edit(attribute.rawValue, alias == attribute.rawValue ? nil : alias)
            if alias != attribute.rawValue, reader.raw(attribute.rawValue) != nil {
                attributeNames[attribute] = attribute.rawValue
            }
        }
        for name in Self.fixed where fields.names.contains(name) { reader.refuse(name, "cannot be changed") }
        // Its name is not repeated, because it is input.
        if fields.names.contains(where: { !Self.fixed.contains($0) && !Self.editable.contains($0) }) {
            reader.refuse("a field", "is unknown: send only \(Self.editable.joined(separator: ", "))")
        }
        try reader.check()
    }
}

extension FieldReader {
    /// A text, empty where the field is null; nil where the field is left out.
    fileprivate mutating func edit(_ name: String, _ alias: String? = nil) -> String? {
        let found = [name, alias].compactMap { $0 }.compactMap { name in raw(name).map { (name, $0) } }
        guard let (used, value) = found.first else { return nil }
        guard found.count == 1 else { return refused(name, "is repeated as \(found[1].0): send one of them") }
        if value.isNull { return "" }
        guard let text = value.string else { return refused(used, "must be a string or null") }
        return text.utf8.count <= 1024 ? text : refused(used, "is longer than 1024 bytes")
    }

    /// The attributes of a registration.
    /// - Parameter names: Gets the names of those that were sent under another than their first one.
    package mutating func attributes(
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
