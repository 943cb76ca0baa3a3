import StorageModel

/// Who may become a user, and with what.
public struct RegistrationRules: Sendable, Hashable {
    /// What a registration may be asked for; spelled as in the API.
    public enum Attribute: String, Sendable, CaseIterable {
        case name
        case givenName = "given_name"
        case familyName = "family_name"
        case email
        case phone
        case postalCode = "postal_code"
    }

    /// False: an unknown identity becomes a user at its first sign-in. True: it has to register.
    public var isRequired = false
    /// What a registration must have.
    public var requiredAttributes: [Attribute] = []
    /// Domains whose e-mail addresses cannot register, in any case; with `example.com` also those of
    /// `mail.example.com`, but not of `notexample.com`.
    public var blockedEmailDomains: [String] = []

    public init() {}

    /// The required attributes that a profile lacks.
    func missing(in profile: Profile) -> [Attribute] {
        requiredAttributes.filter { profile[$0] == nil }
    }

    func blocks(_ email: EmailAddress) -> Bool {
        blockedEmailDomains.contains { blocked in
            let blocked = blocked.lowercased()
            return email.domain == blocked || email.domain.hasSuffix("." + blocked)
        }
    }
}

extension Profile {
    /// The e-mail address, if it reads like one. What a carrier tells in another form (`Jane <jane@mail.example>`) has
    /// no domain that could be looked at.
    var reachableEmail: String? { email.flatMap { EmailAddress($0) == nil ? nil : $0 } }
}

extension Profile {
    fileprivate subscript(attribute: RegistrationRules.Attribute) -> String? {
        switch attribute {
        case .name: name
        case .givenName: givenName
        case .familyName: familyName
        case .email: reachableEmail
        case .phone: phoneNumber
        case .postalCode: postalCode
        }
    }
}
