public import Primitives

/// Client-initiated backchannel authentication (OpenID Connect CIBA Core 1.0), in the modes poll and ping.
///
/// ```swift
/// let started = try await relyingParty.authenticate(request, client: client, provider: provider, …)
/// // After `started.interval` seconds, and then again and again, never faster:
/// switch try await relyingParty.poll(started.requestID, client: client, provider: provider, …) {
/// case .tokens(let tokens): …
/// case .pending, .slowDown: …
/// }
/// ```
extension RelyingParty {
    /// Asks a provider to authenticate a user, by one request that is never repeated.
    ///
    /// The request is signed if the provider lists the algorithm of the client's key, or the configuration demands it
    /// (CIBA Core section 7.1.1). The client authenticates as at the token endpoint. The audience of its assertion is
    /// the configured one, any of which the provider must accept (section 7.1).
    ///
    /// - Throws: ``OIDCError/Code/metadataRefused`` if the provider has no backchannel authentication endpoint, or does
    ///   not accept a `user_code` that the request has; ``OIDCError/Code/carrierRefused`` or
    ///   ``OIDCError/Code/clientRefused`` with the provider's error code (section 13);
    ///   ``OIDCError/Code/clientRefused`` without one if the provider's metadata does not list the client's
    ///   authentication method, or if the request cannot be signed, and nothing was sent;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code. After these two the user may have been asked
    ///   nevertheless.
    public func authenticate(
        _ request: BackchannelAuthenticationRequest, client: ClientCredentials, signedWith key: ClientKey? = nil,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> BackchannelAuthenticationResponse {
        let clientTLS = clientTLS(of: client, at: provider)
        try check(client, at: provider, for: provider.tokenEndpoint)
        let (endpoint, signingKey) = try demand(
            of: provider, for: provider.backchannelAuthentication?.endpoint ?? provider.tokenEndpoint
        ) { () throws(OIDCError) in
            let metadata = try provider.metadataForBackchannelAuthentication()
            let endpoint = try provider.mutualTLSAliases.endpoint(
                .backchannelAuthentication, insteadOf: metadata.endpoint, presenting: clientTLS)
            guard request.userCode == nil || metadata.acceptsUserCode else {
                throw MetadataReader.refused("backchannel_user_code_parameter_supported")
            }
            try provider.check(client.authentication)
            return (endpoint, try metadata.signingKey(key, configuration.signedBackchannelRequests))
        }
        var items = request.items
        if let signingKey {
            // Nothing but the client's authentication is beside a signed request (CIBA Core section 7.1.1).
            let object = try RequestObject.make(
                of: items, for: client.clientID, signedWith: signingKey, at: provider, id: random.token(bytes: 16),
                now: clock.now())
            items = [("request", object.exposed)]
        }
        let outbound = try self.request(
            items, authenticating: client, to: endpoint, presenting: clientTLS, .backchannelAuthentication,
            of: provider, correlationID)
        return try await bulkhead.send(outbound, "The backchannel authentication request", codeMayBeSpent: false) {
            (response) throws(OIDCError) in
            try client.explaining(try BackchannelAuthenticationResponse(response, limits: configuration.limits))
        }
    }

    /// How long a poll may take at a provider: the token request, and what the validation of its ID token and the
    /// user's attributes may need.
    public func backchannelPollTimeout(at provider: ProviderMetadata) -> Duration {
        refreshTimeout(at: provider) + configuration.limits.userInfoTimeout
    }

    /// Asks the token endpoint once for the tokens of an authentication request (CIBA Core section 10.1). The caller
    /// waits at least the interval between two calls, and longer after ``BackchannelTokenResponse/slowDown``.
    ///
    /// - Parameters:
    ///   - key: The key that the tokens are bound to; nil for a new key, if the provider's tokens are bound at all.
    ///   - requiresIDToken: Whether tokens without an ID token are refused.
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code,
    ///   such as `expired_token`, `access_denied` or `transaction_failed`, and the request has ended; also
    ///   ``OIDCError/Code/clientRefused`` without one if the provider's metadata does not list the client's
    ///   authentication method. ``OIDCError/Code/unusableResponse`` or a transport code, and the request may still be
    ///   pending.
    public func poll(
        _ requestID: Secret, client: ClientCredentials, boundTo key: DPoPKey? = nil, requiresIDToken: Bool = true,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> BackchannelTokenResponse {
        do throws(OIDCError) {
            return .tokens(
                try await post(
                    .backchannelAuthentication(requestID), client, boundTo: key, provider, correlationID,
                    idToken: requiresIDToken ? .required : .optional))
        } catch {
            guard let response = BackchannelTokenResponse(error) else { throw error }
            return response
        }
    }

    /// Asks a carrier to have its user sign in, by one request that is never repeated.
    ///
    /// - Parameter key: The client's key, whose public half the carrier knows. It signs the request object.
    /// - Throws: ``OIDCError/Code/metadataRefused`` if the carrier has no such endpoint;
    ///   ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the carrier's error code;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code. After these the user may have been asked
    ///   nevertheless.
    public func start(
        _ request: ServerInitiatedAuthorizationRequest, signedWith key: ClientKey, provider: ProviderMetadata
    ) async throws(OIDCError) -> BackchannelAuthenticationResponse {
        guard let endpoint = provider.serverInitiatedAuthorizationEndpoint else {
            throw OIDCError(.metadataRefused, reason: "The carrier has no backchannel authentication endpoint.")
        }
        let object = try request.object(
            signedWith: key, audience: provider.issuer, id: random.token(bytes: 16), now: clock.now())
        var outbound = request.outbound(to: endpoint, requestObject: object, limits: configuration.limits)
        outbound.correlationID = request.correlationID
        return try await bulkhead.send(outbound, "The backchannel authentication request", codeMayBeSpent: false) {
            (response) throws(OIDCError) in
            try BackchannelAuthenticationResponse(response, limits: configuration.limits, mayLackLifetime: true)
        }
    }
}

extension ProviderMetadata {
    /// What backchannel authentication needs.
    /// - Throws: ``OIDCError/Code/metadataRefused`` if the provider has no acceptable endpoint.
    package func metadataForBackchannelAuthentication() throws(OIDCError) -> BackchannelAuthenticationMetadata {
        guard let backchannelAuthentication else { throw MetadataReader.refused("backchannel_authentication_endpoint") }
        return backchannelAuthentication
    }
}
