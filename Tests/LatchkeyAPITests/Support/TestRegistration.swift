import LatchkeyConfiguration
import LatchkeyService
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
        rules.mode = isRequired ? .required : .automatic
        rules.requiredAttributes = requiredAttributes
        rules.blockedEmailDomains = blockedEmailDomains
        return rules
    }

    func feature(over store: SQLStore) -> RegistrationFeature {
        RegistrationFeature(NoSettings(), in: .test(store) { $0.registration = rules })
    }

    func registrar(over store: SQLStore) -> any Registrar { feature(over: store) }
}
