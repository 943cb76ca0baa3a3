package import Primitives
package import StorageModel

/// Checks attributes one by one and collects the problems. A blank value counts as missing.
package struct AttributeCheck {
    /// The names under which the client sent attributes, where they are not those of a registration.
    package let names: UserAttributes<String>
    /// The problems in the order in which they were found, each with the name of its attribute.
    package private(set) var texts: [String] = []
    /// The same by attribute, without the name.
    package private(set) var problems = UserAttributes<String>()

    package init(names: UserAttributes<String>) { self.names = names }

    /// - Returns: Nil, in place of a checked value.
    @discardableResult
    package mutating func refuse(_ attribute: UserAttribute, _ problem: String) -> String? {
        problems[attribute] = problem
        texts.append("\(names[attribute] ?? attribute.registrationName) \(problem)")
        return nil
    }

    /// The attributes that are well formed, trimmed; those that are blank or refused are left out.
    package mutating func checked(_ attributes: UserAttributes<String>) -> UserAttributes<String> {
        var checked = UserAttributes<String>()
        for attribute in attributes.present {
            let text = attributes[attribute]
            checked[attribute] =
                switch attribute {
                case .username: self.text(text, attribute, limit: 64)
                case .name, .givenName, .familyName, .nickname: self.text(text, attribute)
                case .email: email(text)
                case .phoneNumber: phone(text)
                case .postalCode: postalCode(text)
                }
        }
        return checked
    }

    /// Any text, at most `limit` bytes, without control characters.
    private mutating func text(_ text: String?, _ attribute: UserAttribute, limit: Int = 255) -> String? {
        let text = text.map { String(Substring($0[...].utf8.trimmed(of: { $0 == UInt8(ascii: " ") }))) }
        guard let text, !text.isEmpty else { return nil }
        guard text.utf8.count <= limit else { return refuse(attribute, "is longer than \(limit) bytes") }
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            return refuse(attribute, "has control characters")
        }
        return text
    }

    private mutating func email(_ text: String?) -> String? {
        guard let text = self.text(text, .email, limit: 254) else { return nil }
        return EmailAddress(text) == nil ? refuse(.email, "is not an e-mail address") : text
    }

    /// 5 to 15 digits (ITU-T E.164) after an optional plus sign, with the usual separators.
    private mutating func phone(_ text: String?) -> String? {
        guard let text = self.text(text, .phoneNumber, limit: 32) else { return nil }
        let number = text.hasPrefix("+") ? text.dropFirst() : text[...]
        let digits = number.utf8.count(where: \.isASCIIDigit)
        let others = number.utf8.filter { !$0.isASCIIDigit }
        guard (5...15).contains(digits), others.allSatisfy("() -.".utf8.contains) else {
            return refuse(.phoneNumber, "is not a phone number")
        }
        return text
    }

    /// Letters, digits, spaces and hyphens, at most 16.
    private mutating func postalCode(_ text: String?) -> String? {
        guard let text = self.text(text, .postalCode, limit: 16) else { return nil }
        let isCode = text.utf8.allSatisfy { byte in
            byte.isASCIILetterOrDigit || " -".utf8.contains(byte)
        }
        return isCode ? text : refuse(.postalCode, "is not a postal code")
    }
}

/// The edit of a profile, not yet checked: an attribute without a text stays, a blank text clears it.
package struct ProfileEdit: Sendable {
    package var attributes = UserAttributes<String>()
    /// The names under which the client sent attributes, where they are not the usual ones.
    package var attributeNames = UserAttributes<String>()

    package init() {}

    /// - Throws: `invalid_request` naming every attribute that is malformed, or that registration requires and so
    ///   cannot be cleared; `email_domain_blocked`.
    func change(_ rules: RegistrationRules) throws(SignInError) -> ProfileChange {
        var check = AttributeCheck(names: attributeNames)
        var change = ProfileChange()
        let checked = check.checked(attributes)
        for attribute in attributes.present {
            change[attribute] = checked[attribute].map(AttributeChange.set) ?? .clear
        }
        for attribute in rules.requiredAttributes
        where change[attribute.attribute] == .clear && check.problems[attribute.attribute] == nil {
            check.refuse(attribute.attribute, "cannot be empty")
        }
        guard check.texts.isEmpty else { throw .malformedAttributes(check) }
        if case .set(let email) = change[.email], let address = EmailAddress(email), rules.blocks(address) {
            throw .emailDomainBlocked
        }
        return change
    }
}

extension UserAttribute {
    /// The name in a registration: `phone`, as ZenKey's example apps send it; otherwise the attribute's own.
    package var registrationName: String { self == .phoneNumber ? "phone" : rawValue }
}

extension Profile {
    /// This profile, without an e-mail address that has no domain to check. Some providers send another form, such as
    /// `Jane <jane@mail.example>`.
    package var withReachableEmail: Profile {
        altered(self) { $0[.email] = self[.email].flatMap { EmailAddress($0) == nil ? nil : $0 } }
    }
}
