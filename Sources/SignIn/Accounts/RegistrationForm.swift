public import OpenIDConnect
public import Primitives
import StorageModel

/// What a user who registers has filled in, as it came.
public struct RegistrationForm: Sendable {
    /// The handle of ``RegistrationOffer``.
    public var handle: Secret
    /// That of the `code_challenge` which a redirect was started with, if it was.
    public var codeVerifier: CodeVerifier?
    /// The attributes as the user filled them in, not yet checked.
    public var attributes = UserAttributes<String>()
    public var correlationID: CorrelationID?
    /// What the user would call the device that asks; for the list of sessions.
    public var device: String?
    /// The clients whose registrations the caller may end; nil for all.
    public var clients: Set<String>?

    public init(handle: Secret) {
        self.handle = handle
    }
}

extension RegistrationForm {
    /// The user's profile: what was filled in, and where nothing was, what the carrier told.
    /// - Throws: `invalid_request` that names every attribute that is missing or malformed; `email_domain_blocked`.
    func profile(completing known: Profile, _ rules: RegistrationRules) throws(SignInError) -> Profile {
        var check = AttributeCheck()
        let profile = check.checked(attributes).filled(with: known.withReachableEmail)
        let refused = check.refused
        for attribute in rules.missing(in: profile) where !refused.contains(attribute.rawValue) {
            check.refuse(attribute.rawValue, "is missing")
        }
        guard check.problems.isEmpty else { throw .malformedAttributes(check.problems) }
        if let email = profile[.email].flatMap(EmailAddress.init), rules.blocks(email) { throw .emailDomainBlocked }
        return profile
    }
}
