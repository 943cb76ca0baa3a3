import Primitives

extension RelyingParty {
    /// Gets what an access token opens (RFC 6750 section 2.1).
    /// - Parameters:
    ///   - bytes: The most that the answer may have.
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
        do throws(OutboundError) {
            return try await http.send(request)
        } catch {
            throw OIDCError(error, of: what, codeMayBeSpent: codeMayBeSpent)
        }
    }
}
