public import Primitives

extension RelyingParty {
    /// Asks a provider without ID tokens for the user of an access token.
    ///
    /// - Throws: ``OIDCError/Code/unusableResponse``, ``OIDCError/Code/metadataRefused`` if the provider has ID tokens,
    ///   or a transport code. The code is spent in every case.
    public func user(accessToken: Secret, provider: ProviderMetadata) async throws(OIDCError) -> ProviderUser {
        guard let endpoint = provider.userEndpoint else {
            throw OIDCError(.metadataRefused, codeMayBeSpent: true, reason: "The provider has no user endpoint.")
        }
        let response = try await get(
            endpoint.url, bearing: accessToken, from: provider, step: .userInfo,
            upTo: configuration.limits.userInfoBytes, "The request to the user endpoint", codeMayBeSpent: true)
        return try ProviderUser(response, from: endpoint, issuer: provider.issuer, limits: configuration.limits)
    }
}
