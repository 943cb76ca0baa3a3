import TestSupport
import Testing

@testable import SignIn

/// The look-up of providers and of their mobile operators.
@Suite("Providers")
struct ProvidersTests {
    @Test(
        "A reference is one text in records and logs, and is read from it",
        arguments: [
            ("zenkey", nil, "zenkey"), ("number", "northwind", "number/northwind"),
            ("number", "north/wind", "number/north/wind"), ("number", "telco_finder", "number/telco_finder"),
        ] as [(String, String?, String)])
    func text(provider: String, operatorName: String?, text: String) {
        let reference = ProviderReference(provider: provider, operatorName: operatorName)
        #expect(reference.text == text)
        #expect(ProviderReference(text: text) == reference)
    }

    @Test(
        "A reference names a provider without operators, or one of the operators",
        arguments: [
            ("number/northwind", true), ("number/southwind", true), ("number", false), ("number/", false),
            ("number/telco_finder", false), ("number/harbor", false), ("northwind", false), ("", false),
        ])
    func target(text: String, isKnown: Bool) throws {
        let providers = try NumberApp().useCases.providers
        let target = providers[ProviderReference(text: text)]
        #expect(target?.reference.text == (isKnown ? text : nil))
    }

    @Test("A name in paths is that of a provider, and not a reference to an operator")
    func name() throws {
        let providers = try NumberApp().useCases.providers
        #expect(providers["number"]?.group?.servers.count == 2)
        #expect(providers["number/northwind"] == nil)
        #expect(throws: SignInError.self) { try providers.find("number/northwind") }
        #expect(throws: SignInError.self) { try providers.find(withoutOperators: "number") }
    }
}
