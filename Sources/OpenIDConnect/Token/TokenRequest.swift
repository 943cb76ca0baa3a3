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
        /// RFC 7523 section 2.1: an assertion about a subject, which authenticates the client, too.
        case assertion(of: Secret, scopes: [String])
    }

    let grant: Grant
    let client: ClientCredentials
    /// For carriers; nil for a provider that does not accept one.
    let correlationID: CorrelationID?

    /// - Parameter provider: Accepts the client's authentication method.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client's key cannot sign;
    ///   ``OIDCError/Code/metadataRefused`` if the provider's alias for such requests is not acceptable.
    func outbound(
        to provider: ProviderMetadata, presenting clientTLS: ClientTLS? = nil, limits: OutboundLimits, now: Timestamp,
        random: RandomSource
    ) throws(OIDCError) -> OutboundRequest {
        let endpoint = try provider.tokenEndpoint(presenting: clientTLS)
        if case .assertion(let subject, let scopes) = grant {
            let assertion = try AuthorizationAssertion.make(
                of: subject, for: client, scopes: scopes, to: endpoint, id: random.token(bytes: 16), now: now)
            return ClientCredentials.request(
                [("grant_type", GrantType.jwtBearer.rawValue), ("assertion", assertion.exposed)],
                to: endpoint, presenting: clientTLS, step: .token, of: provider, limits: limits)
        }
        return try client.request(
            items, to: endpoint, presenting: clientTLS, step: .token, of: provider, limits: limits, now: now,
            random: random)
    }

    private var items: [(name: String, value: String)] {
        var items: [(name: String, value: String)]
        switch grant {
        case .authorizationCode(let code, let redirectURI, _):
            items = [("grant_type", "authorization_code"), ("code", code.exposed), ("redirect_uri", redirectURI)]
        case .refreshToken(let token): items = [("grant_type", "refresh_token"), ("refresh_token", token.exposed)]
        case .backchannelAuthentication(let requestID):
            items = [
                ("grant_type", GrantType.backchannelAuthentication.rawValue), ("auth_req_id", requestID.exposed),
            ]
        case .clientCredentials(let scopes):
            return [("grant_type", "client_credentials"), ("scope", scopes.joined(separator: " "))]
        // Its form has the assertion alone.
        case .assertion: return []
        }
        if let correlationID { items.append(("correlation_id", correlationID.text)) }
        if case .authorizationCode(_, _, let verifier?) = grant {
            items.append(("code_verifier", verifier.secret.exposed))
        }
        return items
    }
}

/// A grant type of the token endpoint, as a provider lists it in `grant_types_supported` (RFC 8414 section 2).
public enum GrantType: String, Sendable, Hashable, CaseIterable {
    /// RFC 6749 section 4.1.
    case authorizationCode = "authorization_code"
    /// RFC 6749 section 4.4.
    case clientCredentials = "client_credentials"
    /// RFC 6749 section 6.
    case refreshToken = "refresh_token"
    /// RFC 7523 section 2.1.
    case jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// CIBA Core section 10.1.
    case backchannelAuthentication = "urn:openid:params:grant-type:ciba"
}
