public import Primitives
import StorageModel

/// Who may register, and with which attributes.
public struct RegistrationRules: Sendable, Hashable {
    /// An attribute that a registration can require. The raw value is its name in registrations.
    public struct Attribute: RawRepresentable, Sendable, Hashable, CaseIterable {
        /// The attribute of the profile.
        public let attribute: UserAttribute

        /// All attributes that a provider can tell.
        public static let allCases = UserAttribute.claims.map(Attribute.init)

        /// Wraps an attribute of the profile.
        public init(_ attribute: UserAttribute) { self.attribute = attribute }

        /// Nil for an unknown name.
        public init?(rawValue: String) {
            guard let found = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = found
        }

        /// The name in registrations.
        public var rawValue: String { attribute.registrationName }
    }

    /// What happens at the first sign-in of an identity.
    public enum Mode: String, Sendable, CaseIterable {
        /// A user is created.
        case automatic
        /// The user must register first.
        case required
    }

    /// What happens at the first sign-in of an identity.
    public var mode = Mode.automatic
    /// Whether ``mode`` is ``Mode/required``.
    public var isRequired: Bool {
        get { mode == .required }
        set { mode = newValue ? .required : .automatic }
    }
    /// The attributes that a registration must have.
    public var requiredAttributes: [Attribute] = []
    /// Domains whose e-mail addresses cannot register, compared as ``DomainName`` says. `example.com` also blocks
    /// `mail.example.com`, but not `notexample.com`.
    public var blockedEmailDomains: [String] = []

    /// The defaults: automatic, no required attributes, no blocked domains.
    public init() {}

    /// The required attributes that a profile lacks.
    func missing(in profile: Profile) -> [Attribute] {
        let profile = profile.withReachableEmail
        return requiredAttributes.filter { profile[$0.attribute] == nil }
    }

    func blocks(_ email: EmailAddress) -> Bool {
        guard !blockedEmailDomains.isEmpty else { return false }
        let domain = DomainName.comparable(email.domain)
        return blockedEmailDomains.contains { blocked in
            let blocked = DomainName.comparable(blocked)
            return domain == blocked || domain.hasSuffix("." + blocked)
        }
    }
}

extension UserAttribute {
    /// The name in a registration: `phone`, as ZenKey's example apps send it; otherwise the attribute's own.
    package var registrationName: String { self == .phoneNumber ? "phone" : rawValue }
}

extension Profile {
    /// This profile, without an e-mail address that has no domain to check. Some carriers send another form, such as
    /// `Jane <jane@mail.example>`.
    var withReachableEmail: Profile {
        var profile = self
        profile[.email] = self[.email].flatMap { EmailAddress($0) == nil ? nil : $0 }
        return profile
    }
}
