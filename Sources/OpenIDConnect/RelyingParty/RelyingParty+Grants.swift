public import Primitives

/// The use of a provider's tokens after the sign-in.
extension RelyingParty {
    /// The response of a provider's resource.
    public enum ResourceResponse: Sendable {
        /// A JSON object or array, byte for byte.
        case json([UInt8])
        /// The access token is no longer accepted (RFC 6750 section 3.1).
        case unauthorized
    }

    /// How long a token request may take.
    public var tokenTimeout: Duration { configuration.limits.tokenTimeout }

    /// Gets new tokens for a refresh token, by one request that is never repeated (RFC 6749 section 6). An ID token in
    /// the response is ignored: a refresh signs no user in.
    ///
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code,
    ///   of which `invalid_grant` means that the grant has ended; ``OIDCError/Code/unusableResponse``, or a transport
    ///   code.
    public func refresh(
        _ refreshToken: Secret, client: ClientCredentials, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        let response = try await post(.refreshToken(refreshToken), client, provider, correlationID)
        return try TokenResponse(response, limits: configuration.limits, needsIDToken: false)
    }

    /// Fetches a user's resource from a provider.
    ///
    /// - Parameter url: Configured by the operator; never named by a provider or a client.
    /// - Throws: ``OIDCError/Code/unusableResponse`` unless the response is 401, or 200 with a complete JSON object or
    ///   array; a transport code.
    public func resource(
        _ url: EndpointURL, accessToken: Secret, provider: ProviderMetadata
    ) async throws(OIDCError) -> ResourceResponse {
        let limits = configuration.limits
        let response = try await get(
            url, bearing: accessToken, from: provider, step: .resource, upTo: limits.resourceBytes,
            "The request for the resource", codeMayBeSpent: false)
        if response.status == 401 { return .unauthorized }
        guard response.status == 200 else {
            throw OIDCError(
                .unusableResponse, reason: "The resource responded with status \(response.status) instead of 200.")
        }
        guard ProviderResponse.isDocument(response, maximumBytes: limits.resourceBytes) else {
            throw OIDCError(.unusableResponse, reason: "The resource is not a JSON object or array.")
        }
        return .json(response.body)
    }
}
