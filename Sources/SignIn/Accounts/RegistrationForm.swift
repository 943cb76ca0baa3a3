package import OpenIDConnect
package import Primitives
import StorageModel

/// The form that a user fills in to register.
package struct RegistrationForm: Sendable {
    /// The handle of ``RegistrationOffer``.
    package var handle: Secret
    /// The name under which the client sent the handle, for the text of an error.
    package var handleName = "state_key"
    /// The verifier of the redirect start's `code_challenge`, if it had one.
    package var codeVerifier: CodeVerifier?
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

    package init(handle: Secret) { self.handle = handle }
}

extension RegistrationForm {
    /// The user's profile: the form's values, completed with the carrier's.
    /// - Throws: `invalid_request` naming every missing or malformed attribute; `email_domain_blocked`.
    func profile(completing known: Profile, _ rules: RegistrationRules) throws(SignInError) -> Profile {
        var check = AttributeCheck(names: attributeNames)
        let profile = check.checked(attributes).filled(with: known.withReachableEmail)
        let refused = check.refused
        for attribute in rules.missing(in: profile) where !refused.contains(attribute.attribute) {
            check.refuse(attribute.attribute, "is missing")
        }
        guard check.problems.isEmpty else { throw .malformedAttributes(check.problems) }
        if let email = profile[.email].flatMap(EmailAddress.init), rules.blocks(email) { throw .emailDomainBlocked }
        return profile
    }
}
