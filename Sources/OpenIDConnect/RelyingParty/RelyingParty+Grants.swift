public import Primitives

/// What a provider's tokens are good for after the sign-in.
extension RelyingParty {
    /// What a provider's resource answers.
    public enum ResourceResponse: Sendable {
        /// A JSON object or array, byte for byte.
        case json([UInt8])
        /// The access token is no longer good (RFC 6750 section 3.1).
        case unauthorized
    }

    /// How long a token request may take.
    public var tokenTimeout: Duration { configuration.limits.tokenTimeout }

    /// Gets new tokens for a refresh token, by one request that is never repeated (RFC 6749 section 6). An ID token in the
    /// answer is nobody's business: it signs nobody in.
    ///
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code:
    ///   `invalid_grant` says that the grant is over; ``OIDCError/Code/unusableResponse``, or a transport code.
    public func refresh(
        _ refreshToken: Secret, client: ClientCredentials, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        let response = try await post(.refreshToken(refreshToken), client, provider, correlationID)
        return try TokenResponse(response, limits: configuration.limits, needsIDToken: false)
    }

    /// Fetches something of a user's from a provider.
    ///
    /// - Parameter url: An operator's, never a provider's or a client's.
    /// - Throws: ``OIDCError/Code/unusableResponse`` unless the answer is 401, or 200 with JSON that is whole and an object
    ///   or an array; a transport code.
    public func resource(
        _ url: EndpointURL, accessToken: Secret, provider: ProviderMetadata
    ) async throws(OIDCError) -> ResourceResponse {
        let limits = configuration.limits
        let response = try await get(
            url, bearing: accessToken, from: provider, step: .resource, upTo: limits.resourceBytes,
            "The request for the resource", codeMayBeSpent: false)
        if response.status == 401 { return .unauthorized }
        guard response.status == 200 else {
            throw OIDCError(.unusableResponse, reason: "The resource was answered with status \(response.status).")
        }
        guard ProviderResponse.isDocument(response, maximumBytes: limits.resourceBytes) else {
            throw OIDCError(.unusableResponse, reason: "The resource is not a JSON object or array.")
        }
        return .json(response.body)
    }
}
