import Primitives

extension RelyingParty {
    /// Gets what an access token gives access to (RFC 6750 section 2.1).
    /// - Parameters:
    ///   - bytes: The longest body to accept.
    ///   - what: Names the request in an error.
    func get(
        _ url: EndpointURL, bearing accessToken: Secret, from provider: ProviderMetadata,
        step: OutboundRequest.Destination.Step, upTo bytes: Int, _ what: StaticString, codeMayBeSpent: Bool
    ) async throws(OIDCError) -> OutboundResponse {
        let request = OutboundRequest(
            method: .get, url: url,
            headers: [("Authorization", "Bearer " + accessToken.exposed), ("Accept", "application/json")],
            timeout: configuration.limits.userInfoTimeout, maximumBodyBytes: bytes,
            destination: .init(carrier: provider.issuer, step: step))
        return try await bulkhead.send(request, what, codeMayBeSpent: codeMayBeSpent)
    }
}
