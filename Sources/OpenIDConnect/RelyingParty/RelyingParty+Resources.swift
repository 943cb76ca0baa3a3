public import Primitives

extension RelyingParty {
    /// The response of a provider's resource.
    public enum ResourceResponse: Sendable {
        /// A JSON object or array, byte for byte.
        case json([UInt8])
        /// The access token is no longer accepted (RFC 6750 section 3.1).
        case unauthorized
    }

    /// Asks a provider without ID tokens for the user of an access token.
    ///
    /// - Throws: ``OIDCError/Code/unusableResponse``, ``OIDCError/Code/metadataRefused`` if the provider has ID tokens,
    ///   or a transport code. The code is spent in every case.
    /// - Parameters:
    ///   - userMember: As ``TokenResponse/userMember``.
    ///   - correlationID: Of the sign-in, for the log. The others are as in the request for userinfo.
    public func user(
        accessToken: Secret, boundTo key: DPoPKey? = nil, userMember: String? = nil,
        client: ClientCredentials? = nil, provider: ProviderMetadata, correlationID: CorrelationID? = nil
    ) async throws(OIDCError) -> ProviderUser {
        guard let endpoint = provider.userEndpoint else {
            throw OIDCError(.metadataRefused, codeMayBeSpent: true, reason: "The provider has no user endpoint.")
        }
        let limits = configuration.limits
        let clientTLS = clientTLS(of: client, at: provider)
        let name = configuration.dialect.userMember
        let query = name.flatMap { name in userMember.map { [(name: name, value: $0)] } } ?? []
        var user = try await send(
            "The request to the user endpoint", with: accessToken, key, clientTLS,
            to: endpoint.url.appending(query: query), of: provider, .userInfo, upTo: limits.userInfoBytes,
            correlationID, codeMayBeSpent: true
        ) { (response) throws(OIDCError) in
            try ProviderUser(
                response, from: endpoint, configuration.userMembers, issuer: provider.issuer, limits: limits)
        }
        guard let emails = endpoint.emails else { return user }
        do throws(OIDCError) {
            let named = user
            // Not the step of the user endpoint: a list that is down must not open the circuit breaker of sign-ins.
            user = try await send(
                "The request for the e-mail addresses", with: accessToken, key, clientTLS, to: emails, of: provider,
                .resource, upTo: limits.userInfoBytes, correlationID, codeMayBeSpent: true
            ) { (response) throws(OIDCError) in
                var user = named
                try user.takeEmail(response, limits: limits)
                return user
            }
        } catch {
            user.emailsFailure = error.reason
        }
        return user
    }

    /// Fetches a user's resource from a provider.
    ///
    /// - Parameters:
    ///   - url: Configured by the administrator; never named by a provider or a client.
    ///   - correlationID: Of the request that needs it, for the log.
    /// - Throws: ``OIDCError/Code/unusableResponse`` unless the response is 401, or 200 with a complete JSON object or
    ///   array; a transport code.
    public func resource(
        _ url: EndpointURL, accessToken: Secret, boundTo key: DPoPKey? = nil, client: ClientCredentials? = nil,
        provider: ProviderMetadata, correlationID: CorrelationID? = nil
    ) async throws(OIDCError) -> ResourceResponse {
        try await send(
            "The request for the resource", with: accessToken, key, clientTLS(of: client, at: provider), to: url,
            of: provider, .resource, upTo: configuration.limits.resourceBytes, correlationID, codeMayBeSpent: false,
            read: readResource)
    }

    private func readResource(_ response: OutboundResponse) throws(OIDCError) -> ResourceResponse {
        if response.status == 401 { return .unauthorized }
        guard response.status == 200 else {
            throw OIDCError(
                .unusableResponse, reason: "The resource responded with status \(response.status) instead of 200.")
        }
        guard ProviderResponse.isDocument(response, of: configuration.limits) else {
            throw OIDCError(.unusableResponse, reason: "The resource is not a JSON object or array.")
        }
        return .json(response.body)
    }

    /// Calls an API of a provider with an access token, once. The token is spent in every case.
    ///
    /// - Parameters:
    ///   - headers: Besides those of every call.
    ///   - body: JSON, for a `POST`.
    /// - Throws: What `read` throws, or a transport code.
    package func call<Value>(
        _ what: StaticString, _ method: OutboundRequest.Method, _ url: EndpointURL,
        _ headers: [(name: String, value: String)], body: [UInt8], with tokens: TokenResponse,
        _ step: OutboundRequest.Destination.Step, of provider: ProviderMetadata, _ correlationID: CorrelationID,
        read: (OutboundResponse, OutboundLimits) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        let limits = configuration.limits
        return try await send(
            what, with: tokens.accessToken, tokens.accessTokenKey, nil, to: url, of: provider, step,
            upTo: limits.userInfoBytes, correlationID, codeMayBeSpent: true
        ) { request in
            request.method = method
            request.headers += headers
            if method == .post { request.headers.append(("Content-Type", "application/json")) }
            request.body = body
        } read: { (response) throws(OIDCError) in
            try read(response, limits)
        }
    }
}
