package import Primitives
import StorageModel

/// The operator's rules for new users.
package struct RegistrationRules: Sendable, Hashable {
    /// An attribute that a registration can require, under its name in registrations.
    package struct Attribute: RawRepresentable, Sendable, Hashable, CaseIterable {
        /// What the name stands for.
        package let attribute: UserAttribute

        package static let allCases = UserAttribute.claims.map(Attribute.init)

        package init(_ attribute: UserAttribute) {
            self.attribute = attribute
        }

        package init?(rawValue: String) {
            guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = found
        }

        package var rawValue: String { attribute.registrationName }
    }

    /// If false, an unknown identity becomes a user at its first sign-in. If true, it must register.
    package var isRequired = false
    /// The attributes that registration requires.
    package var requiredAttributes: [Attribute] = []
    /// Domains whose e-mail addresses cannot register, in any letter case. `example.com` includes `mail.example.com`,
    /// but not `notexample.com`.
    package var blockedEmailDomains: [String] = []

    package init() {}

    /// The required attributes that a profile lacks.
    func missing(in profile: Profile) -> [Attribute] {
        let profile = profile.withReachableEmail
        return requiredAttributes.filter { profile[$0.attribute] == nil }
    }

    func blocks(_ email: EmailAddress) -> Bool {
        blockedEmailDomains.contains { blocked in
            let blocked = blocked.lowercased()
            return email.domain == blocked || email.domain.hasSuffix("." + blocked)
        }
    }
}

extension UserAttribute {
    /// The name in a registration: `phone`, as ZenKey's example apps send it; otherwise the attribute's own.
    package var registrationName: String { self == .phoneNumber ? "phone" : rawValue }
}

extension Profile {
    /// The e-mail address, if it is one. An address that a carrier tells in another form (`Jane <jane@mail.example>`)
    /// has no domain to check.
    var reachableEmail: String? { self[.email].flatMap { EmailAddress($0) == nil ? nil : $0 } }

    /// This profile without an e-mail address that is none.
    var withReachableEmail: Profile {
        var profile = self
        profile[.email] = reachableEmail
        return profile
    }
}
