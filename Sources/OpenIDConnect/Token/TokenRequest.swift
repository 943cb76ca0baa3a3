import Primitives

/// A request to the token endpoint.
struct TokenRequest {
    /// What is exchanged for tokens.
    enum Grant {
        /// RFC 6749 section 4.1.3, RFC 7636 section 4.5.
        case authorizationCode(Secret, redirectURI: String, codeVerifier: CodeVerifier?)
        /// RFC 6749 section 6.
        case refreshToken(Secret)
        /// CIBA Core section 10.1: the provider's `auth_req_id`.
        case backchannelAuthentication(Secret)
        /// RFC 6749 section 4.4: a token for the client itself.
        case clientCredentials(scopes: [String])
        /// RFC 7523 section 2.1: the assertion of a TS.43 temporary token, which authenticates the client, too.
        case operatorToken(Secret, scopes: [String])
    }

    let grant: Grant
    let client: ClientCredentials
    /// For carriers; nil for a provider that does not accept one.
    let correlationID: CorrelationID?

    /// - Parameters:
    ///   - provider: Accepts the client's authentication method.
    ///   - clientTLS: What the request presents.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client's key cannot sign;
    ///   ``OIDCError/Code/metadataRefused`` if the provider's alias for such requests is not acceptable.
    func outbound(
        to provider: ProviderMetadata, presenting clientTLS: ClientTLS? = nil, limits: OutboundLimits, now: Timestamp,
        random: RandomSource
    ) throws(OIDCError) -> OutboundRequest {
        let endpoint = try provider.tokenEndpoint(presenting: clientTLS)
        if case .operatorToken(let token, let scopes) = grant {
            let assertion = try client.assertion(
                of: token, scopes: scopes, to: endpoint, id: random.token(bytes: 16), now: now)
            return ClientCredentials.request(
                [("grant_type", AuthorizationAssertion.grantType), ("assertion", assertion.exposed)],
                to: endpoint, presenting: clientTLS, step: .token, of: provider, limits: limits)
        }
        return try client.request(
            items, to: endpoint, presenting: clientTLS, step: .token, of: provider, limits: limits, now: now,
            random: random)
    }

    private static let backchannelGrantType = "urn:openid:params:grant-type:ciba"

    private var items: [(name: String, value: String)] {
        let correlation = correlationID.map { [(name: "correlation_id", value: $0.text)] } ?? []
        switch grant {
        case .authorizationCode(let code, let redirectURI, let codeVerifier):
            let verifier = codeVerifier.map { [(name: "code_verifier", value: $0.secret.exposed)] } ?? []
            return [("grant_type", "authorization_code"), ("code", code.exposed), ("redirect_uri", redirectURI)]
                + correlation + verifier
        case .refreshToken(let token):
            return [("grant_type", "refresh_token"), ("refresh_token", token.exposed)] + correlation
        case .backchannelAuthentication(let requestID):
            return [("grant_type", Self.backchannelGrantType), ("auth_req_id", requestID.exposed)] + correlation
        case .clientCredentials(let scopes):
            return [("grant_type", "client_credentials"), ("scope", scopes.joined(separator: " "))]
        // Its form has the assertion alone.
        case .operatorToken: return []
        }
    }
}
