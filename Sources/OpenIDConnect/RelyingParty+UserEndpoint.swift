public import Primitives

extension RelyingParty {
    /// Asks a provider without ID tokens who the user is that an access token was given for.
    ///
    /// - Throws: ``OIDCError/Code/unusableAnswer``, ``OIDCError/Code/metadataRefused`` if the provider has ID tokens, or a
    ///   transport code. The code is spent in every case.
    public func user(accessToken: Secret, provider: ProviderMetadata) async throws(OIDCError) -> KnownUser {
        guard let endpoint = provider.userEndpoint else {
            throw OIDCError(.metadataRefused, codeMayBeSpent: true, reason: "The provider has no user endpoint.")
        }
        let request = OutboundRequest(
            method: .get, url: endpoint.url,
            headers: [("Authorization", "Bearer " + accessToken.exposed), ("Accept", "application/json")],
            timeout: configuration.limits.userInfoTimeout, maximumBodyBytes: configuration.limits.userInfoBytes,
            lane: .init(carrier: provider.issuer, step: .userInfo))
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await http.send(request)
        } catch {
            throw OIDCError(error, of: "The request to the user endpoint", codeMayBeSpent: true)
        }
        return try KnownUser(response, from: endpoint, issuer: provider.issuer, limits: configuration.limits)
    }
}
