public import Primitives

extension RelyingParty {
    /// Makes every check of ``validate(idToken:expecting:provider:correlationID:keyFetch:)``, and reports the result of
    /// each.
    ///
    /// The token is sent nowhere. The provider's keys are fetched if they are not cached; if they cannot be fetched,
    /// the checks that need them are reported as not possible.
    public func explain(
        idToken: Secret, expecting expectation: IDTokenExpectation, provider: ProviderMetadata, at moment: Timestamp
    ) async -> IDTokenExplanation {
        explanation(
            of: idToken, expectation, provider, keys: await Result(awaiting: try await signingKeys(of: provider)),
            at: moment)
    }

    func explanation(
        of idToken: Secret, _ expectation: IDTokenExpectation, _ provider: ProviderMetadata,
        keys: Result<JSONWebKeySet, OIDCError>, at moment: Timestamp
    ) -> IDTokenExplanation {
        IDTokenValidator(rules: configuration.idTokenRules, issuer: provider.issuer).explain(
            TokenExamination(idToken, configuration.idTokenRules, keys: keys),
            signedWith: expectation.signingAlgorithms.intersection(provider.signingAlgorithms),
            expecting: expectation, now: moment)
    }

    /// Makes every check of ``verify(logoutToken:for:)``, and reports the result of each. Whether the token was used
    /// before is not checked.
    public func explain(
        logoutToken: Secret, for clients: [ClientID: Set<SigningAlgorithm>], provider: ProviderMetadata,
        at moment: Timestamp
    ) async -> LogoutTokenExplanation {
        explanation(
            of: logoutToken, for: clients, issuer: provider.issuer, provider,
            keys: await Result(awaiting: try await signingKeys(of: provider)), at: moment)
    }

    /// Makes every check of ``verify(logoutToken:for:)`` with the cached metadata and keys. It sends no request.
    package func explainOffline(
        logoutToken: Secret, for clients: [ClientID: Set<SigningAlgorithm>]
    ) -> LogoutTokenExplanation {
        let provider = knownProvider(for: nil)
        return explanation(
            of: logoutToken, for: clients, issuer: issuer?.text ?? "", provider, keys: cachedKeys(of: provider),
            at: clock.now())
    }

    private func explanation(
        of logoutToken: Secret, for clients: [ClientID: Set<SigningAlgorithm>], issuer: String,
        _ provider: ProviderMetadata?, keys: Result<JSONWebKeySet, OIDCError>, at moment: Timestamp
    ) -> LogoutTokenExplanation {
        let rules = configuration.idTokenRules
        return TokenExamination(logoutToken, rules, keys: keys).explainedAsLogoutToken(
            of: issuer, for: Self.logoutAlgorithms(of: clients, at: provider), rules, at: moment,
            listed: provider?.signingAlgorithms)
    }

    /// Makes every check of ``verify(authorizationResponse:for:)`` with the cached keys. It sends no request.
    package func explainOffline(
        authorizationResponse: Secret, for clients: [ClientID: SigningAlgorithm]
    ) -> AuthorizationResponseExplanation {
        let (rules, keys) = (configuration.idTokenRules, cachedKeys(of: knownProvider(for: nil)))
        return TokenExamination(authorizationResponse, rules, keys: keys).explainedAsAuthorizationResponse(
            of: issuer?.text ?? "", for: clients, rules, at: clock.now())
    }

    /// Makes every check of a recorded validation again, with the cached keys. It sends no request.
    package func explain(_ validation: ProtocolRecord.Validation) -> IDTokenExplanation {
        explanation(
            of: validation.idToken, validation.expectation, validation.provider,
            keys: cachedKeys(of: validation.provider), at: validation.at)
    }

    func cachedKeys(of provider: ProviderMetadata?) -> Result<JSONWebKeySet, OIDCError> {
        if let keys = provider.flatMap({ heldKeys(of: $0) }) { return .success(keys) }
        return .failure(OIDCError(.keysUnavailable, reason: "no keys of the provider are cached"))
    }

    package var idTokenRules: IDTokenRules { configuration.idTokenRules }

    /// The provider's usable keys: from the cache, or fetched.
    package func signingKeys(of provider: ProviderMetadata) async throws(OIDCError) -> JSONWebKeySet {
        try await keyCaches.cache(of: provider).current().keys
    }
}
