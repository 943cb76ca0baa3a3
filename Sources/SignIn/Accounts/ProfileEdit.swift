import StorageModel

/// What a user wants otherwise in their profile, as it came: nil leaves an attribute, a blank text clears it.
public struct ProfileEdit: Sendable {
    public var username: String?
    public var name: String?
    public var givenName: String?
    public var familyName: String?
    public var email: String?
    public var phoneNumber: String?
    public var postalCode: String?

    public init() {}
}

extension ProfileEdit {
    /// - Throws: `invalid_request` that names every attribute that is malformed, or cannot be cleared because a
    ///   registration needs it; `email_domain_blocked`.
    func change(_ rules: RegistrationRules) throws(SignInError) -> ProfileChange {
        var check = AttributeCheck()
        var change = ProfileChange()
        change.username = Self.change(username, check.text(username, "username", limit: 64))
        change.name = Self.change(name, check.text(name, "name"))
        change.givenName = Self.change(givenName, check.text(givenName, "given_name"))
        change.familyName = Self.change(familyName, check.text(familyName, "family_name"))
        change.email = Self.change(email, check.email(email))
        change.phoneNumber = Self.change(phoneNumber, check.phone(phoneNumber))
        change.postalCode = Self.change(postalCode, check.postalCode(postalCode))
        let refused = check.refused
        for attribute in rules.requiredAttributes
        where change[attribute] == .clear && !refused.contains(attribute.rawValue) {
            check.refuse(attribute.rawValue, "cannot be empty")
        }
        guard check.problems.isEmpty else { throw .malformedAttributes(check.problems) }
        if case .set(let email) = change.email, let address = EmailAddress(email), rules.blocks(address) {
            throw .emailDomainBlocked
        }
        return change
    }

    private static func change(_ given: String?, _ checked: String?) -> AttributeChange {
        guard given != nil else { return .keep }
        return checked.map(AttributeChange.set) ?? .clear
    }
}

extension ProfileChange {
    fileprivate subscript(attribute: RegistrationRules.Attribute) -> AttributeChange {
        switch attribute {
        case .name: name
        case .givenName: givenName
        case .familyName: familyName
        case .email: email
        case .phone: phoneNumber
        case .postalCode: postalCode
        }
    }

    /// The names of what it touches.
    var attributes: [String] {
        let all = [
            ("username", username), ("name", name), ("given_name", givenName), ("family_name", familyName),
            ("email", email), ("phone_number", phoneNumber), ("postal_code", postalCode),
        ]
        return all.filter { $0.1 != .keep }.map(\.0)
    }
}
