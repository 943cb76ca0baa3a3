public import Primitives

/// Refreshes of tokens (RFC 6749 section 6, OpenID Connect Core section 12).
extension RelyingParty {
    /// How long a refresh may take at a provider: the token request, and the requests that the validation of its ID
    /// token may need.
    public func refreshTimeout(at provider: ProviderMetadata) -> Duration {
        let limits = configuration.limits
        return provider.hasIDTokens
            ? limits.tokenTimeout + limits.discoveryTimeout + limits.keysTimeout : limits.tokenTimeout
    }

    /// Fetches what the validation of an ID token needs, unless it is cached. Call it before something that is good
    /// once is sent, such as a refresh token: without keys, the response could not be used, and the next refresh token
    /// would be lost.
    ///
    /// - Throws: ``OIDCError/Code/keysUnavailable`` or a transport code; nothing is spent.
    public func prepareValidation(
        at provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) {
        guard provider.hasIDTokens else { return }
        _ = try await keyCaches.cache(of: provider).current(for: correlationID)
    }

    /// Gets new tokens for a refresh token, by one request that is never repeated. An ID token in the response is
    /// validated; there need not be one.
    ///
    /// - Parameter algorithms: What the provider may sign the client's ID tokens with (`id_token_signed_response_alg`).
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code,
    ///   of which `invalid_grant` means that the grant has ended; ``OIDCError/Code/invalidIDToken`` with the check that
    ///   failed, and then no token of the response may be used; ``OIDCError/Code/unusableResponse`` or a transport
    ///   code.
    public func refresh(
        _ refreshToken: Secret, client: ClientCredentials, of original: OriginalIDToken,
        boundTo key: DPoPKey? = nil, signedWith algorithms: Set<SigningAlgorithm> = SigningAlgorithm.standard,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> RefreshResponse {
        let tokens = try await post(
            .refreshToken(refreshToken), client, boundTo: key, provider, correlationID,
            idToken: provider.hasIDTokens ? .optional : .ignored)
        guard let idToken = tokens.idToken else { return RefreshResponse(tokens: tokens, unverified: nil) }
        do throws(OIDCError) {
            try await validate(
                refreshed: idToken, accessToken: tokens.accessToken, receivedAt: clock.now(), client: client.clientID,
                of: original, signedWith: algorithms, provider: provider, correlationID: correlationID)
        } catch {
            guard error.code != .invalidIDToken else { throw error }
            return RefreshResponse(tokens: tokens, unverified: error)
        }
        return RefreshResponse(tokens: tokens, unverified: nil)
    }

    /// Validates the ID token of a refresh (OpenID Connect Core section 12.2).
    ///
    /// - Parameter receivedAt: When the response arrived, with the access token.
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with the check that failed; ``OIDCError/Code/keysUnavailable`` or a
    ///   transport code if the provider's keys, or newer ones that the token may need, cannot be fetched now.
    public func validate(
        refreshed idToken: Secret, accessToken: Secret, receivedAt: Timestamp, client: ClientID,
        of original: OriginalIDToken, signedWith algorithms: Set<SigningAlgorithm> = SigningAlgorithm.standard,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) {
        var expectation = IDTokenExpectation(clientID: client, accessToken: accessToken)
        expectation.signingAlgorithms = algorithms
        expectation.original = original
        expectation.receivedAt = receivedAt
        _ = try await validate(
            idToken: idToken, expecting: expectation, provider: provider, correlationID: correlationID)
    }
}

/// The response to a refresh (RFC 6749 section 6, OpenID Connect Core section 12.1).
public struct RefreshResponse: Sendable {
    public let tokens: TokenResponse
    /// Why the ID token of the response could not be validated; nil if it is valid, or if there is none. The tokens
    /// must be kept then, because the earlier refresh token may be spent, and must not be used before
    /// ``RelyingParty/validate(refreshed:accessToken:receivedAt:client:of:signedWith:provider:correlationID:)`` accepts
    /// the ID token.
    public let unverified: OIDCError?
}
