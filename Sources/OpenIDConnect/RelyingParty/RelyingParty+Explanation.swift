public import Primitives

extension RelyingParty {
    /// Goes through every check that ``validate(idToken:expecting:provider:keyFetch:)`` makes, and tells what became of each.
    ///
    /// The token is sent nowhere; the provider's keys are fetched when they are not at hand, and where they cannot be
    /// had, the checks that need them say so.
    ///
    /// - Parameter moment: The time to hold the token's times against, now or another.
    public func explain(
        idToken: Secret, expecting expectation: IDTokenExpectation, provider: ProviderMetadata, at moment: Timestamp
    ) async -> IDTokenExplanation {
        let rules = configuration.idTokenRules
        return IDTokenValidator(rules: rules, issuer: provider.issuer).explain(
            idToken, keys: await keysForExplanation(of: provider), allows: { rules.allows($0, at: provider) },
            expecting: expectation, now: moment)
    }

    /// As ``explain(idToken:expecting:provider:at:)``, by the checks of ``verify(logoutToken:for:)``. Whether the token was
    /// used before is none of them.
    public func explain(
        logoutToken: Secret, for clients: Set<ClientID>, provider: ProviderMetadata, at moment: Timestamp
    ) async -> LogoutTokenExplanation {
        let rules = configuration.idTokenRules
        return UnverifiedLogoutToken.explain(
            logoutToken, .init(issuer: provider.issuer, clients: clients, rules: rules, now: moment),
            keys: await keysForExplanation(of: provider), allows: { rules.allows($0, at: provider) })
    }

    private func keysForExplanation(of provider: ProviderMetadata) async -> Result<JSONWebKeySet, OIDCError> {
        do throws(OIDCError) {
            return .success(try await signingKeys(of: provider))
        } catch {
            return .failure(error)
        }
    }

    /// What is demanded of every ID token.
    package var idTokenRules: IDTokenRules { configuration.idTokenRules }

    /// The provider's usable keys: from the cache, or fetched.
    package func signingKeys(of provider: ProviderMetadata) async throws(OIDCError) -> JSONWebKeySet {
        try await keyCaches.cache(of: provider).current().keys
    }
}

extension IDTokenRules {
    /// Whether a provider's tokens may be signed so: we accept it, and the provider says that it does it.
    func allows(_ algorithm: SigningAlgorithm, at provider: ProviderMetadata) -> Bool {
        algorithms.contains(algorithm) && provider.signingAlgorithms.contains(algorithm)
    }
}
