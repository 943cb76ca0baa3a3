package import OpenIDConnect

/// All providers of sign-ins, by their names in paths.
package struct Providers: Sendable {
    private let byName: [String: Provider]
    private let targets: [ProviderReference: SignInTarget]

    /// - Parameter providers: With different names.
    package init(_ providers: [Provider] = []) {
        byName = Dictionary(providers.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let targets = byName.values.flatMap { provider in
            (provider.group?.servers ?? [:]).map { SignInTarget(provider, $1, named: $0) }
                + (provider.server.map { [SignInTarget(provider, $0)] } ?? [])
        }
        self.targets = Dictionary(targets.map { ($0.reference, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sorted by name.
    package var all: [Provider] { byName.values.sorted { $0.name < $1.name } }

    /// The provider of a name in paths; nil if there is none.
    package subscript(name: String) -> Provider? { byName[name] }

    /// Whom a reference names; nil if there is no such provider or operator, or if the provider has operators and the
    /// reference names none.
    package subscript(reference: ProviderReference) -> SignInTarget? { targets[reference] }

    /// The group of a reference, also of one to a server that it has no more.
    package func group(of reference: ProviderReference) -> (any ServerGroup)? { byName[reference.provider]?.group }

    /// Whether sign-ins with the provider of a name in paths are with one server of a group.
    package func hasOperators(_ name: String) -> Bool { byName[name]?.group != nil }

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

    /// The provider of a call that groups do not have.
    /// - Parameter instead: What to call at one of those.
    /// - Throws: `not_found` if no provider has the name; `invalid_request` if it is a group.
    package func find(
        withoutOperators name: String,
        instead: String = "Begin the sign-in at its start, or send an operator_token to its sign-in call."
    ) throws(SignInError) -> SignInTarget {
        if let group = byName[name]?.group {
            throw .invalidRequest("A provider of kind \(group.kind.rawValue) has no such call. \(instead)")
        }
        return try find(ProviderReference(provider: name))
    }

    /// The relying parties of all providers and groups, by ``ProviderReference/text``.
    package var relyingParties: [String: RelyingParty] {
        var parties = Dictionary(
            targets.map { ($0.key.text, $0.value.relyingParty) }, uniquingKeysWith: { first, _ in first })
        for provider in byName.values {
            for (name, party) in provider.group?.otherParties ?? [:] {
                parties[ProviderReference(provider: provider.name, operatorName: name).text] = party
            }
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
