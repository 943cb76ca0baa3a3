package import OpenIDConnect
public import Primitives
package import StorageModel

/// Registers users who are unknown. A feature has it; without it, a sign-in creates its user.
package protocol Registrar: Sendable {
    /// Whether a user who is unknown must register.
    var isRequired: Bool { get }

    /// Offers registration to a user who is unknown.
    /// - Parameters:
    ///   - provider: Whose tokens are stored once the user has registered.
    ///   - codeChallenge: The challenge of a redirect's start. The app gets the handle in a URL that others may read.
    ///     So the handle needs the verifier then.
    ///   - completion: Of the sign-in that ends with the offer.
    func offer(
        to user: VerifiedSignIn, of provider: String, for clientID: String, _ correlationID: CorrelationID,
        codeChallenge: String?, by completion: SignInCompletion
    ) async throws(SignInError) -> RegistrationOffer

    /// Creates the user of an offer, and signs the user in.
    /// - Throws: `invalid_request` with every attribute that is missing or malformed, `email_domain_blocked`,
    ///   `user_already_exists`, `invalid_token` for a handle that is unknown, used or expired,
    ///   `temporarily_unavailable`.
    func register(_ form: RegistrationForm, by completion: SignInCompletion) async throws(SignInError) -> SignedIn
}

/// What an unknown user needs to register.
package struct RegistrationOffer: Sendable {
    /// Represents the verified identity; works once.
    package let handle: Secret
    /// The `code_challenge` of the redirect's start, without whose verifier the handle is unknown.
    package let codeChallenge: String?
    /// The user's attributes from the provider.
    package let profile: Profile
    /// The further claims that the user consented to share.
    package let claims: ConsentedClaims
    /// The attributes that a registration needs and the provider did not send.
    package let missing: [RegistrationRules.Attribute]
    /// Seconds until the handle expires.
    package let expiresIn: Int64
    package let correlationID: CorrelationID

    package init(
        handle: Secret, codeChallenge: String? = nil, profile: Profile, claims: ConsentedClaims = ConsentedClaims(),
        missing: [RegistrationRules.Attribute], expiresIn: Int64, correlationID: CorrelationID
    ) {
        self.handle = handle
        self.codeChallenge = codeChallenge
        self.profile = profile
        self.claims = claims
        self.missing = missing
        self.expiresIn = expiresIn
        self.correlationID = correlationID
    }
}

/// The form that a user fills in to register.
package struct RegistrationForm: Sendable {
    /// The handle of ``RegistrationOffer``.
    package var handle: Secret
    /// The name under which the client sent the handle, for the text of an error.
    package var handleName = "state_key"
    /// The `code_challenge` of the redirect's start, if it had one, from a caller who has shown its verifier, or that
    /// the start was its own.
    package var codeChallenge: String?
    /// The attributes as the user filled them in, not yet checked.
    package var attributes = UserAttributes<String>()
    /// The names under which the client sent attributes, where they are not the usual ones.
    package var attributeNames = UserAttributes<String>()
    package var correlationID: CorrelationID?
    /// A name for the user's device; for the list of sessions.
    package var device: String?
    /// The clients whose registrations the caller may complete; nil for all.
    package var clients: Set<String>?
    /// Whether an e-mail address that a provider vouches for in another account is refused.
    package var refusesVerifiedEmail = false
    /// Who sends it, or the secret of the browser that does: the same request has a retry.
    package var caller: Caller?
    package var cookie: Secret?

    package init(handle: Secret) { self.handle = handle }
}

/// Who must register, and what the profile of a registered user must have, and must not.
public struct RegistrationRules: Sendable, Hashable {
    /// An attribute that a registration can require. The raw value is its name in registrations.
    public struct Attribute: RawRepresentable, Sendable, Hashable, CaseIterable {
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
    /// The attributes that a registration must have.
    public var requiredAttributes: [Attribute] = []
    /// Domains whose e-mail addresses cannot register, compared as ``DomainName`` says. `example.com` also blocks
    /// `mail.example.com`, but not `notexample.com`.
    public var blockedEmailDomains: [String] = []

    /// The defaults: automatic, no required attributes, no blocked domains.
    public init() {}

    /// The required attributes that a profile lacks.
    package func missing(in profile: Profile) -> [Attribute] {
        let profile = profile.withReachableEmail
        return requiredAttributes.filter { profile[$0.attribute] == nil }
    }

    package func blocks(_ email: EmailAddress) -> Bool {
        guard !blockedEmailDomains.isEmpty else { return false }
        let domain = DomainName.comparable(email.domain)
        return blockedEmailDomains.contains { blocked in
            let blocked = DomainName.comparable(blocked)
            return domain == blocked || domain.hasSuffix("." + blocked)
        }
    }
}
