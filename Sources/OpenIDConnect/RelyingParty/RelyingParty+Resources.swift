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

    /// The attributes of an ID token's user (OpenID Connect Core section 5.3). A provider's endpoint receives the
    /// correlation id as the query item `correlation_id`, because proxies drop header fields with an underscore. An
    /// OpenID provider without a userinfo endpoint has put the attributes into the ID token.
    ///
    /// - Parameters:
    ///   - key: The key that the access token is bound to; nil for a Bearer token.
    ///   - algorithm: The client's `userinfo_signed_response_alg` (OpenID Connect Dynamic Client Registration section
    ///     2). A response that is not signed with it is refused. Nil if the client is registered with none: then a
    ///     response is plain JSON, or signed with one of the usual ones.
    ///   - usual: The usual algorithms of the client.
    ///   - client: The client of the access token, for the certificate that the token may be bound to, and for how its
    ///     userinfo is encrypted.
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with ``IDTokenCheck/userInfoSubject`` if the response has another
    ///   subject; ``OIDCError/Code/metadataRefused`` if a provider has no userinfo endpoint;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code. The code is spent in every case.
    public func userInfo(
        accessToken: Secret, boundTo key: DPoPKey? = nil, about idToken: VerifiedIDToken,
        signedWith algorithm: SigningAlgorithm? = nil,
        orAnyOf usual: Set<SigningAlgorithm> = SigningAlgorithm.standard, client: ClientCredentials? = nil,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> UserInfo {
        let clientTLS = clientTLS(of: client, at: provider)
        let known: EndpointURL?
        do throws(OIDCError) {
            known = try provider.userInfoEndpoint(presenting: clientTLS)
        } catch {
            throw OIDCError(error.code, codeMayBeSpent: true, reason: error.reason).at(
                .init(to: provider.tokenEndpoint))
        }
        guard let endpoint = known else {
            guard usesNetworkDiscovery else { return idToken.attributes }
            throw OIDCError(.metadataRefused, codeMayBeSpent: true, reason: "The provider has no userinfo endpoint.")
                .at(.init(to: provider.tokenEndpoint))
        }
        let request = request(
            usesNetworkDiscovery ? endpoint.appending(query: [("correlation_id", correlationID.text)]) : endpoint,
            with: accessToken, key, clientTLS, from: provider, step: .userInfo,
            upTo: configuration.limits.userInfoBytes,
            accepting: algorithm == nil && client?.userInfoDecryption == nil ? "application/json" : "application/jwt",
            correlationID)
        let response = try await send(
            "The userinfo request", provingPossessionOf: key, at: provider, accessToken: accessToken,
            codeMayBeSpent: true, { request }
        ) { (response) throws(OIDCError) in
            try UserInfoResponse(
                response, signedWith: algorithm, orAnyOf: usual, encryptedAs: client?.userInfoDecryption,
                limits: configuration.limits)
        }
        do throws(OIDCError) {
            let claims: JSONObject
            switch response {
            case .plain(let plain): return try UserInfo(plain, subject: idToken.subject)
            case .encrypted(let decrypted): claims = decrypted
            case .signed(let signed): claims = try await verified(signed, provider, correlationID)
            }
            try UserInfoResponse.check(
                claims, issuer: idToken.issuer, clientID: idToken.clientID, rules: configuration.idTokenRules,
                now: clock.now())
            return try UserInfo(claims, subject: idToken.subject)
        } catch {
            throw error.at(.init(to: request.url, status: 200))
        }
    }

    /// The claims of a signed response, by the provider's keys, which are fetched again if none of them fits.
    private func verified(
        _ signed: SignedToken, _ provider: ProviderMetadata, _ correlationID: CorrelationID
    ) async throws(OIDCError) -> JSONObject {
        let cache = try keyCaches.cache(of: provider)
        let held = try await cache.current(for: correlationID)
        try await cache.check(with: held, for: correlationID) { (keys) throws(OIDCError) in
            guard SignatureValidationContext(signed, keys: keys).verifies else {
                throw .unusable("The signature of the userinfo response does not verify with the provider's keys.")
            }
        }
        return try UserInfoResponse.claims(signed.payload)
    }

    /// Asks a provider without ID tokens for the user of an access token.
    ///
    /// - Throws: ``OIDCError/Code/unusableResponse``, ``OIDCError/Code/metadataRefused`` if the provider has ID tokens,
    ///   or a transport code. The code is spent in every case.
    /// - Parameter correlationID: Of the sign-in, for the log. The others are as in the request for userinfo.
    public func user(
        accessToken: Secret, boundTo key: DPoPKey? = nil, client: ClientCredentials? = nil,
        provider: ProviderMetadata, correlationID: CorrelationID? = nil
    ) async throws(OIDCError) -> ProviderUser {
        guard let endpoint = provider.userEndpoint else {
            throw OIDCError(.metadataRefused, codeMayBeSpent: true, reason: "The provider has no user endpoint.")
        }
        let request = request(
            endpoint.url, with: accessToken, key, clientTLS(of: client, at: provider), from: provider,
            step: .userInfo, upTo: configuration.limits.userInfoBytes, correlationID)
        return try await send(
            "The request to the user endpoint", provingPossessionOf: key, at: provider, accessToken: accessToken,
            codeMayBeSpent: true, { request }
        ) { (response) throws(OIDCError) in
            try ProviderUser(response, from: endpoint, issuer: provider.issuer, limits: configuration.limits)
        }
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
        let request = request(
            url, with: accessToken, key, clientTLS(of: client, at: provider), from: provider, step: .resource,
            upTo: configuration.limits.resourceBytes, correlationID)
        return try await send(
            "The request for the resource", provingPossessionOf: key, at: provider, accessToken: accessToken,
            codeMayBeSpent: false, { request }, read: readResource)
    }

    private func readResource(_ response: OutboundResponse) throws(OIDCError) -> ResourceResponse {
        if response.status == 401 { return .unauthorized }
        guard response.status == 200 else {
            throw OIDCError(
                .unusableResponse, reason: "The resource responded with status \(response.status) instead of 200.")
        }
        guard ProviderResponse.isDocument(response, maximumBytes: configuration.limits.resourceBytes) else {
            throw OIDCError(.unusableResponse, reason: "The resource is not a JSON object or array.")
        }
        return .json(response.body)
    }

    /// Calls an API of a provider with an access token, once. The token is spent in every case.
    ///
    /// - Parameters:
    ///   - what: Names the call in errors.
    ///   - headers: Besides those of every call.
    ///   - body: JSON, for a `POST`.
    ///   - read: Reads the response.
    /// - Throws: What `read` throws, or a transport code.
    package func call<Value>(
        _ what: StaticString, _ method: OutboundRequest.Method, _ url: EndpointURL,
        _ headers: [(name: String, value: String)], body: [UInt8], with tokens: TokenResponse,
        _ step: OutboundRequest.Destination.Step, of provider: ProviderMetadata, _ correlationID: CorrelationID,
        read: (OutboundResponse, OutboundLimits) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        let limits = configuration.limits
        var request = request(
            url, with: tokens.accessToken, tokens.accessTokenKey, nil, from: provider, step: step,
            upTo: limits.userInfoBytes, correlationID)
        request.method = method
        request.headers += headers
        if method == .post { request.headers.append(("Content-Type", "application/json")) }
        request.body = body
        return try await send(
            what, provingPossessionOf: tokens.accessTokenKey, at: provider, accessToken: tokens.accessToken,
            codeMayBeSpent: true, { request }
        ) { (response) throws(OIDCError) in try read(response, limits) }
    }

    /// A request for what an access token gives access to (RFC 6750 section 2.1, RFC 9449 section 7.1, RFC 8705 section
    /// 3).
    /// - Parameters:
    ///   - key: The key that the access token is bound to, if it is; the request then needs a proof, too.
    ///   - clientTLS: What the request presents.
    ///   - bytes: The longest body to accept.
    func request(
        _ url: EndpointURL, with accessToken: Secret, _ key: DPoPKey?, _ clientTLS: ClientTLS?,
        from provider: ProviderMetadata, step: OutboundRequest.Destination.Step, upTo bytes: Int,
        accepting mediaType: String = "application/json",
        _ correlationID: CorrelationID?
    ) -> OutboundRequest {
        var request = OutboundRequest(
            method: .get, url: url,
            headers: [
                ("Authorization", (key == nil ? "Bearer " : "DPoP ") + accessToken.exposed), ("Accept", mediaType),
            ],
            timeout: configuration.limits.userInfoTimeout, maximumBodyBytes: bytes,
            destination: .init(carrier: provider.issuer, step: step), correlationID: correlationID)
        request.clientTLS = clientTLS
        return request
    }
}
