package import OpenIDConnect

/// All providers of sign-ins, by their names in paths.
package struct Providers: Sendable {
    private let byName: [String: Provider]
    private let targets: [ProviderReference: SignInTarget]

    /// - Parameter providers: With different names.
    package init(_ providers: [Provider] = []) {
        byName = Dictionary(providers.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let targets = byName.values.flatMap { provider in
            provider.operators.map { SignInTarget($0, of: provider) } + [SignInTarget(provider)].compactMap(\.self)
        }
        self.targets = Dictionary(targets.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sorted by name.
    package var all: [Provider] { byName.values.sorted { $0.name < $1.name } }

    /// The provider of a name in paths; nil if there is none.
    package subscript(name: String) -> Provider? { byName[name] }

    /// Whom a reference names; nil if there is no such provider or operator, or if the provider has mobile operators
    /// and the reference names none.
    subscript(reference: ProviderReference) -> SignInTarget? { targets[reference] }

    /// Whether sign-ins with the provider of a name in paths are with one of several mobile operators.
    package func hasOperators(_ name: String) -> Bool {
        targets[ProviderReference(provider: name)] == nil && byName[name] != nil
    }

    /// The provider of a name in paths.
    /// - Throws: `not_found` if there is none.
    package func find(_ name: String) throws(SignInError) -> Provider {
        guard let provider = byName[name] else { throw .unknownProvider(in: self) }
        return provider
    }

    /// Whom a reference names.
    /// - Throws: `not_found` if there is no such provider or operator.
    package func find(_ reference: ProviderReference) throws(SignInError) -> SignInTarget {
        guard let target = self[reference] else { throw .unknownProvider(in: self) }
        return target
    }

    /// The provider of a call that providers with mobile operators do not have.
    /// - Parameter instead: What to call at one of those.
    /// - Throws: `not_found` if no provider has the name; `invalid_request` if it has mobile operators.
    package func find(
        withoutOperators name: String, instead: String = SignInError.signInAtOperator
    ) throws(SignInError) -> SignInTarget {
        guard !hasOperators(name) else { throw .notAtOperators(instead) }
        return try find(ProviderReference(provider: name))
    }

    /// The relying parties of all providers, mobile operators and Telco Finders, by ``ProviderReference/text``.
    package var relyingParties: [String: RelyingParty] {
        var parties = Dictionary(
            targets.map { ($0.key.text, $0.value.relyingParty) }, uniquingKeysWith: { first, _ in first })
        for provider in byName.values {
            guard let finder = provider.finder else { continue }
            parties[ProviderReference.telcoFinder(of: provider.name).text] = finder.relyingParty
        }
        return parties
    }

    /// The clients of providers that may have an end-session endpoint.
    var clientsWithIDTokens: Set<String> {
        Set(byName.values.filter { $0.openID?.keepsIDTokens ?? false }.flatMap(\.allClients).map(\.id.text))
    }
}

extension SignInError {
    package static func unknownProvider(in providers: Providers) -> SignInError {
        unknownProvider(among: providers.all.map(\.name))
    }
}
