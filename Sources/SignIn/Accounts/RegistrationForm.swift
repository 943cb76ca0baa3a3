package import OpenIDConnect
package import Primitives
import StorageModel

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

    package init(handle: Secret) { self.handle = handle }
}

extension RegistrationForm {
    /// The user's profile: the form's values, completed with the carrier's.
    /// - Throws: `invalid_request` naming every missing or malformed attribute; `email_domain_blocked`.
    func profile(completing known: Profile, _ rules: RegistrationRules) throws(SignInError) -> Profile {
        var check = AttributeCheck(names: attributeNames)
        let profile = check.checked(attributes).filled(with: known.withReachableEmail)
        for attribute in rules.missing(in: profile) where check.problems[attribute.attribute] == nil {
            check.refuse(attribute.attribute, "is missing")
        }
        guard check.texts.isEmpty else { throw .malformedAttributes(check) }
        if let email = profile[.email].flatMap(EmailAddress.init), rules.blocks(email) { throw .emailDomainBlocked }
        return profile
    }
}
