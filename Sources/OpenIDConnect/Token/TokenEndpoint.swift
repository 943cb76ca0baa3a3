public import Primitives

enum TokenGrant {
    /// RFC 6749 section 4.1.3, RFC 7636 section 4.5. Without a redirect URI, the request has none.
    case authorizationCode(Secret, redirectURI: String?, codeVerifier: CodeVerifier?)
    /// RFC 6749 section 6.
    case refreshToken(Secret)
    /// CIBA Core section 10.1: the provider's `auth_req_id`.
    case backchannelAuthentication(Secret)
    /// RFC 6749 section 4.4: a token for the client itself.
    case clientCredentials(scopes: [String])
    /// RFC 7523 section 2.1: an assertion about a subject, which authenticates the client, too.
    case assertion(of: Secret, scopes: [String])

    /// The parameters of a token request, besides those that authenticate the client.
    /// - Parameter correlationID: For carriers; nil for a provider that does not accept one.
    func items(_ correlationID: CorrelationID?) -> [(name: String, value: String)] {
        var items: [(name: String, value: String)]
        switch self {
        case .authorizationCode(let code, let redirectURI, _):
            items = [("grant_type", "authorization_code"), ("code", code.exposed)]
            if let redirectURI { items.append(("redirect_uri", redirectURI)) }
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
        if case .authorizationCode(_, _, let verifier?) = self {
            items.append(("code_verifier", verifier.secret.exposed))
        }
        return items
    }
}

extension RelyingParty {
    /// Whether the response to a code, or to what stands in for it, has an ID token.
    func idTokenPresence(at provider: ProviderMetadata) -> TokenResponse.IDTokenPresence {
        guard provider.hasIDTokens else { return .ignored }
        return configuration.requiresIDTokens ? .required : .optional
    }

    /// Sends a token request, once. `send` is in `RelyingParty.swift`, also for requests without a proof.
    /// - Parameter key: As in ``exchange(code:redirectURI:codeVerifier:client:boundTo:provider:correlationID:)``.
    func post(
        _ grant: TokenGrant, _ client: ClientCredentials, boundTo key: DPoPKey?, _ provider: ProviderMetadata,
        _ correlationID: CorrelationID, idToken presence: TokenResponse.IDTokenPresence
    ) async throws(OIDCError) -> TokenResponse {
        let key = key ?? newDPoPKey(at: provider)
        let clientTLS = clientTLS(of: client, at: provider)
        try check(client, at: provider, for: provider.tokenEndpoint)
        let endpoint = try demand(of: provider, for: provider.tokenEndpoint) { () throws(OIDCError) in
            try provider.check(client.authentication)
            let endpoint = try provider.mutualTLSAliases.endpoint(
                .token, insteadOf: provider.tokenEndpoint, presenting: clientTLS)
            guard case .refreshToken = grant else { return endpoint }
            return configuration.dialect.refreshEndpoint(beside: endpoint)
        }
        var tokens = try await send("The token request", provingPossessionOf: key, at: provider, codeMayBeSpent: nil) {
            () throws(OIDCError) in
            if case .assertion(let subject, let scopes) = grant {
                let assertion = try client.assertion(
                    about: subject, scopes: scopes, to: endpoint, id: random.token(bytes: 16), now: clock.now())
                return try request(
                    [("grant_type", GrantType.jwtBearer.rawValue), ("assertion", assertion.exposed)],
                    authenticating: nil, to: endpoint, presenting: clientTLS, .token, of: provider, correlationID)
            }
            return try request(
                grant.items(usesNetworkDiscovery ? correlationID : nil), authenticating: client, to: endpoint,
                presenting: clientTLS, .token, of: provider, correlationID)
        } read: { (response) throws(OIDCError) in
            try client.explaining(
                try TokenResponse(
                    response, limits: configuration.limits, idToken: presence,
                    dialect: provider.hasIDTokens ? nil : configuration.dialect, proofKey: key,
                    mustBeBound: dpop(at: provider) == .required,
                    mayLackType: !usesNetworkDiscovery && clientTLS == nil))
        }
        guard let idToken = tokens.idToken, client.idTokenDecryption != nil else { return tokens }
        tokens.idToken = try mappingErrors(client.signedToken(in: idToken, rules: configuration.idTokenRules)) {
            (error: OIDCError) in error.at(.init(to: provider.tokenEndpoint))
        }
        return tokens
    }

    /// What a request needs of a provider's metadata. Metadata that lacks it is fetched again for the next request.
    func demand<Value>(
        of provider: ProviderMetadata, for endpoint: EndpointURL, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        do throws(OIDCError) {
            return try body()
        } catch {
            discovery.distrust(provider)
            throw error.at(.init(to: endpoint))
        }
    }

    /// What requests of a client present at a provider (RFC 8705); nil for nothing.
    func clientTLS(of client: ClientCredentials?, at provider: ProviderMetadata) -> ClientTLS? {
        client?.clientTLS(at: provider, configuration.extensions.mutualTLS)
    }

    /// Refuses a client whose tokens could not be bound as configured, before anything is sent.
    func check(
        _ client: ClientCredentials, at provider: ProviderMetadata, for endpoint: EndpointURL
    ) throws(OIDCError) {
        try demand(of: provider, for: endpoint) { () throws(OIDCError) in
            try client.checkClientTLS(at: provider, configuration.extensions.mutualTLS)
        }
    }
}

/// A successful response of the token endpoint (RFC 6749 section 5.1, OpenID Connect Core section 3.1.3.3).
public struct TokenResponse: Sendable, Hashable {
    /// The access token, of type Bearer or DPoP.
    public let accessToken: Secret
    /// The key that the access token is bound to (RFC 9449 section 5); nil for a Bearer token.
    public let accessTokenKey: DPoPKey?
    /// The key of the request's proof, which the refresh token may be bound to; nil if the request had none.
    public let proofKey: DPoPKey?
    /// A signed JWT in compact form. Nil from a provider without ID tokens; a response to a refresh may have none.
    public internal(set) var idToken: Secret?
    /// The refresh token, if the provider issued one.
    public let refreshToken: Secret?
    /// Seconds until the access token expires, if the provider says so.
    public let expiresIn: Int64?
    /// The granted scopes, if the provider names them.
    public let scope: String?
    /// What the request for the user repeats, in a dialect that demands it.
    public let userMember: String?

    enum IDTokenPresence {
        /// The response to a code (OpenID Connect Core section 3.1.3.3).
        case required
        /// The response to a refresh token (OpenID Connect Core section 12.2).
        case optional
        /// The response of a provider without ID tokens. One that it sends nevertheless is not read.
        case ignored
    }

    /// Reads the token endpoint's response.
    ///
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` if the response is an error of
    ///   RFC 6749 section 5.2; ``OIDCError/Code/unusableResponse`` if it is neither that nor what section 5.1 and
    ///   OpenID Connect Core section 3.1.3.3 prescribe. The code may be spent in every case.
    ///
    /// - Parameters:
    ///   - dialect: That of a provider without ID tokens. Then a response may be a form.
    ///   - proofKey: The key of the request's proof; nil if it had none. Then the token type DPoP is refused.
    ///   - mustBeBound: Whether a Bearer token is refused.
    ///   - mayLackType: Whether a response without `token_type` is one of a Bearer token, as many providers leave it
    ///     out. It never is one if the request had a proof, so that no bound token is taken for a Bearer token.
    init(
        _ response: OutboundResponse, limits: OutboundLimits, idToken presence: IDTokenPresence = .required,
        dialect: OAuthDialect? = nil, proofKey: DPoPKey? = nil, mustBeBound: Bool = false,
        mayLackType: Bool = false
    ) throws(OIDCError) {
        guard
            let object = ProviderResponse.object(response, upTo: \.tokenBytes, of: limits)
                ?? (dialect == nil ? nil : ProviderResponse.form(response, maximumBytes: limits.tokenBytes))
        else {
            throw .unusable("The token endpoint's response, of status \(response.status), is not a JSON object.")
        }
        // Some frameworks answer every POST with 201.
        guard response.status == 200 || limits.isLenient && response.status == 201 else {
            throw Self.refusal(object, status: response.status)
        }
        if let error = dialect?.error(in: object) {
            throw Self.refusal(JSONValue.object(of: [("error", .string(error))]).object ?? object, status: 400)
        }
        // RFC 6749 section 3.1: an empty parameter counts as omitted.
        if let error = object["error"], !error.isNull, error != .string("") {
            guard Self.tokens.allSatisfy({ object[$0] == nil }) else {
                throw OIDCError(
                    .unusableResponse, carrierError: error.string, codeMayBeSpent: true,
                    reason: "The token endpoint's response has both an error and tokens.")
            }
            throw Self.refusal(object, status: 400)
        }
        // The characters that a Bearer header can carry (RFC 6750 section 2.1), and any other visible ones.
        guard let accessToken = object["access_token"]?.string, accessToken.isVisibleASCII() else {
            throw .unusable("The token endpoint's response has no access_token of visible ASCII characters.")
        }
        accessTokenKey = try Self.isBound(object["token_type"], mayLackType, proofKey, mustBeBound) ? proofKey : nil
        self.proofKey = proofKey
        self.accessToken = Secret(accessToken)
        idToken =
            switch presence {
            case .required: try Self.idToken(object)
            case .optional:
                object["id_token"].map { $0.isNull || $0 == .string("") } ?? true
                    ? nil : try Self.idToken(object)
            case .ignored: nil
            }
        // Without it, the lifetime is unknown.
        expiresIn = try ProviderResponse.seconds(
            object["expires_in"],
            otherwise: limits.isLenient
                ? nil : .unusable("The token endpoint's response has an expires_in that is not a number of seconds."))
        refreshToken = object["refresh_token"]?.string.flatMap { $0.isEmpty ? nil : Secret($0) }
        scope = object["scope"]?.string
        userMember = dialect?.userMember.flatMap { object[$0]?.visibleText }
    }

    private static let tokens = ["access_token", "id_token", "refresh_token"]

    /// Whether the token type is DPoP. RFC 6749 section 5.1: it is required, and compared without regard to case.
    private static func isBound(
        _ type: JSONValue?, _ mayLackType: Bool, _ proofKey: DPoPKey?, _ mustBeBound: Bool
    ) throws(OIDCError) -> Bool {
        let given = type?.isNull ?? true ? "" : type?.string?.lowercased()
        switch given {
        case "dpop" where proofKey != nil: return true
        case "bearer" where !mustBeBound: return false
        case "" where mayLackType && proofKey == nil && !mustBeBound: return false
        default:
            throw .unusable(
                "The token endpoint's response has a token_type other than \(mustBeBound ? "DPoP" : "Bearer").")
        }
    }

    private static func idToken(_ object: JSONObject) throws(OIDCError) -> Secret {
        guard let idToken = object["id_token"]?.string, !idToken.isEmpty else {
            throw .idTokenMissing
        }
        return Secret(idToken)
    }

    private static func refusal(_ object: JSONObject, status: Int) -> OIDCError {
        ProviderResponse.refusal(object, status: status, by: "token endpoint", of: "grant", codeMayBeSpent: true)
            ?? OIDCError(
                .unusableResponse, carrierError: object["error"]?.string, codeMayBeSpent: true,
                reason: "The token endpoint responded with neither tokens nor an error of RFC 6749 section 5.2.")
    }
}

extension OIDCError {
    /// A provider with ID tokens responded without one.
    package static let idTokenMissing = unusable("The token endpoint's response has no id_token.")
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
