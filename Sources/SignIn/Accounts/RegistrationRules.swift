public import Primitives
import StorageModel

/// Who may become a user, and with what.
public struct RegistrationRules: Sendable, Hashable {
    /// An attribute that a registration can require, under its name in registrations.
    public struct Attribute: RawRepresentable, Sendable, Hashable, CaseIterable {
        /// What the name stands for.
        public let attribute: UserAttribute

        public static let allCases = UserAttribute.claims.map(Attribute.init)

        public init(_ attribute: UserAttribute) {
            self.attribute = attribute
        }

        public init?(rawValue: String) {
            guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = found
        }

        public var rawValue: String { attribute.registrationName }
    }

    /// What becomes of an identity that no user has.
    public enum Mode: String, Sendable, CaseIterable {
        /// It becomes a user at its first sign-in.
        case automatic
        /// It has to register first.
        case required
    }

    public var mode = Mode.automatic
    /// Whether ``mode`` is ``Mode/required``.
    public var isRequired: Bool {
        get { mode == .required }
        set { mode = newValue ? .required : .automatic }
    }
    /// What a registration must have.
    public var requiredAttributes: [Attribute] = []
    /// Domains whose e-mail addresses cannot register, in any case; with `example.com` also those of
    /// `mail.example.com`, but not of `notexample.com`.
    public var blockedEmailDomains: [String] = []

    public init() {}

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
