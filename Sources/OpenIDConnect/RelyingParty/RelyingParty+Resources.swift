public import Primitives

/// What an access token gives access to.
extension RelyingParty {
    /// The response of a provider's resource.
    public enum ResourceResponse: Sendable {
        /// A JSON object or array, byte for byte.
        case json([UInt8])
        /// The access token is no longer accepted (RFC 6750 section 3.1).
        case unauthorized
    }

    /// The attributes of an ID token's user (OpenID Connect Core section 5.3). A carrier's endpoint receives the
    /// correlation id as the query item `correlation_id`, because proxies drop header fields with an underscore. An
    /// OpenID provider without a userinfo endpoint has put the attributes into the ID token.
    ///
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with ``IDTokenCheck/userInfoSubject`` if the response has another
    ///   subject; ``OIDCError/Code/metadataRefused`` if a carrier has no userinfo endpoint;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code. The code is spent in every case.
    public func userInfo(
        accessToken: Secret, about idToken: VerifiedIDToken, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> UserInfo {
        guard let endpoint = provider.userInfoEndpoint else {
            guard isOfCarriers else { return idToken.attributes }
            throw OIDCError(.metadataRefused, codeMayBeSpent: true, reason: "The provider has no userinfo endpoint.")
        }
        let response = try await get(
            isOfCarriers ? endpoint.appending(query: [("correlation_id", correlationID.text)]) : endpoint,
            bearing: accessToken, from: provider, step: .userInfo, upTo: configuration.limits.userInfoBytes,
            "The userinfo request", codeMayBeSpent: true)
        return try UserInfo(response, subject: idToken.subject, limits: configuration.limits)
    }

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

    /// Gets what an access token gives access to (RFC 6750 section 2.1).
    /// - Parameters:
    ///   - bytes: The longest body to accept.
    ///   - what: Names the request in an error.
    private func get(
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
