import SignIn
import Storage

@testable import Registration

/// Who must register in a test, and with what.
struct TestRegistration: Sendable {
    var isRequired = false
    var requiredAttributes: [RegistrationRules.Attribute] = []
    var blockedEmailDomains: [String] = []

    var rules: RegistrationRules {
        var rules = RegistrationRules()
        rules.requiredAttributes = requiredAttributes
        rules.blockedEmailDomains = blockedEmailDomains
        return rules
    }

    func feature(over store: SQLStore) -> RegistrationFeature {
        var settings = RegistrationSettings()
        settings.mode = isRequired ? .required : .automatic
        return RegistrationFeature(settings, rules, store: store)
    }

    func registrar(over store: SQLStore) -> (any Registrar)? { feature(over: store).registrar }
}
