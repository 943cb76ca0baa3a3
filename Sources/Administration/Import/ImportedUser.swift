package import LatchkeyService
package import Primitives
import SignIn
package import StorageModel

/// A user of another system: a line of the input of `latchkey users import`.
package struct ImportedUser: Sendable, Hashable {
    /// The most bytes of a line.
    package static let maximumBytes = 65_536

    /// The line's number in the input, from 1.
    package let line: Int
    package let identity: Identity
    package let profile: Profile
    /// Whether the line says that the issuer verified the e-mail address.
    package let hasVerifiedEmail: Bool
    /// When the other system made the user.
    package let createdAt: Timestamp?

    /// - Parameter bytes: A JSON object.
    /// - Throws: What is wrong, without values of the line.
    package init(_ bytes: [UInt8], line: Int, at now: Timestamp) throws(AdministratorError) {
        var identity: (issuer: String?, subject: String?)
        var (attributes, hasVerifiedEmail, createdAt) = (UserAttributes<String>(), false, Timestamp?.none)
        for member in try Self.object(bytes).members where !member.value.isNull {
            let (name, value) = (member.name, member.value)
            switch name {
            case "issuer": identity.issuer = try Self.text(name, value)
            case "subject": identity.subject = try Self.text(name, value)
            case "created_at": createdAt = try Self.time(name, value, before: now)
            case "email_verified": hasVerifiedEmail = try Self.flag(name, value)
            case "phone_number_verified": _ = try Self.flag(name, value)
            default:
                guard let attribute = UserAttribute(rawValue: name) else {
                    throw AdministratorError("there is no member “\(name.onOneLine(upTo: 64))”")
                }
                attributes[attribute] = try Self.text(name, value)
            }
        }
        guard let issuer = identity.issuer, let subject = identity.subject else {
            throw AdministratorError("issuer and subject are required")
        }
        self.identity = Identity(issuer: issuer, subject: subject)
        try self.identity.checkForm()
        var check = AttributeCheck(names: [.phoneNumber: UserAttribute.phoneNumber.rawValue])
        profile = check.checked(attributes)
        guard check.texts.isEmpty else { throw AdministratorError(check.texts.joined(separator: "; ")) }
        (self.line, self.hasVerifiedEmail, self.createdAt) = (line, hasVerifiedEmail, createdAt)
    }

    private static func object(_ bytes: [UInt8]) throws(AdministratorError) -> JSONObject {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            value = try JSONValue(parsing: bytes, limits: JSONLimits(bytes: maximumBytes, depth: 4, values: 64))
        } catch {
            throw AdministratorError("not JSON: \(error.code.rawValue) at byte \(error.offset + 1)")
        }
        guard let object = value.object else { throw AdministratorError("not a JSON object") }
        return object
    }

    private static func text(_ name: String, _ value: JSONValue) throws(AdministratorError) -> String {
        guard let text = value.string else { throw AdministratorError("\(name) is not a text") }
        return text
    }

    private static func flag(_ name: String, _ value: JSONValue) throws(AdministratorError) -> Bool {
        guard let flag = value.bool else { throw AdministratorError("\(name) is neither true nor false") }
        return flag
    }

    private static func time(
        _ name: String, _ value: JSONValue, before now: Timestamp
    ) throws(AdministratorError) -> Timestamp {
        let time = value.integer.map(Timestamp.init(secondsSinceEpoch:)) ?? value.string.flatMap(UTCTime.moment)
        guard let time, time.secondsSinceEpoch >= 0, time <= now else {
            throw AdministratorError(
                "\(name) is not a past time in whole seconds since 1970 or such as 2026-11-21T01:02:03Z")
        }
        return time
    }
}
