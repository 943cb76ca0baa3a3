package import Primitives
import StorageModel

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
