public import Primitives

/// The relying party's side of a sign-in with mobile carriers, or with one OpenID provider: discovery, token request, ID
/// token, userinfo.
///
/// ```swift
/// let carrier = try await relyingParty.provider(for: network, clientID: id, correlationID: correlation)
/// let tokens = try await relyingParty.exchange(code: code, …, provider: carrier, correlationID: correlation)
/// let user = try await relyingParty.validate(idToken: tokens.idToken, expecting: expectation, provider: carrier)
/// // user.issuer and user.subject are who signed in.
/// ```
///
/// Safe to share; keeps providers' metadata and keys.
public final class RelyingParty: Sendable {
    public struct Configuration: Sendable {
        /// How a provider's metadata is found.
        public enum Discovery: Sendable, Hashable {
            /// Asked here, with `client_id` and `mccmnc`: carriers.
            case byNetwork(EndpointURL)
            /// Asked of the issuer itself (OpenID Connect Discovery section 4): one OpenID provider.
            case ofIssuer(EndpointURL)
            /// Known beforehand: a provider without ID tokens, which has no metadata to ask for.
            case fixed(ProviderMetadata)
        }

        public var discovery: Discovery
        /// What the carriers' URLs may be besides https.
        public var urlPolicy: EndpointURL.Policy = .httpsOnly
        /// The hosts that carriers' issuers and endpoints may be on.
        public var trustedHosts: TrustedHosts = .zenKeyCarriers
        /// Issuers known beforehand. Other networks are held to the issuer first seen.
        public var pinnedIssuers: [MCCMNC: String] = [:]
        public var idTokenRules = IDTokenRules()
        public var portTokenRules = PortTokenRules()
        public var limits = OutboundLimits()
        public var cache = CacheRules()
        public var gate = CarrierBulkheadRules()

        /// For carriers.
        public init(discoveryURL: EndpointURL) {
            discovery = .byNetwork(discoveryURL)
        }

        /// For one provider without ID tokens.
        /// - Parameter issuer: Stands for the provider in identities: nothing that it says names it.
        public init(
            issuer: EndpointURL, authorizationEndpoint: EndpointURL, tokenEndpoint: EndpointURL,
            userEndpoint: UserEndpoint
        ) {
            discovery = .fixed(
                ProviderMetadata(
                    issuer: issuer.text, authorizationEndpoint: authorizationEndpoint, tokenEndpoint: tokenEndpoint,
                    userEndpoint: userEndpoint))
        }

        /// For one OpenID provider. Its endpoints may be on any host: its issuer says which, and nobody else.
        public init(issuer: EndpointURL) {
            discovery = .ofIssuer(issuer)
            trustedHosts = .all
        }
    }

    let configuration: Configuration
    let gate: CarrierBulkhead
    var http: any HTTPClient { gate }
    let clock: WallClock
    let random: RandomSource
    let discovery: ProviderDiscovery
    let keyCaches: KeyCaches
    let issuerConfigurations: IssuerConfigurations
    /// Of fetches of newer keys for the sake of logout tokens.
    let logoutKeyFetches: SharedBucket

    public init(
        configuration: Configuration, http: any HTTPClient, clock: WallClock, random: RandomSource = .system,
        observer: RelyingPartyObserver = .none
    ) {
        let http = CarrierBulkhead(http: http, clock: clock, rules: configuration.gate, observer: observer)
        self.configuration = configuration
        gate = http
        self.clock = clock
        self.random = random
        discovery = ProviderDiscovery(configuration: configuration, http: http, clock: clock, random: random)
        keyCaches = KeyCaches(
            http: http, clock: clock, limits: configuration.limits, rules: configuration.cache, random: random,
            observer: observer)
        logoutKeyFetches = SharedBucket(capacity: 1, secondsPerToken: 60, now: clock.now())
        issuerConfigurations = IssuerConfigurations(configuration: configuration, http: http, clock: clock)
    }

    /// Whether this is about carriers, which are found by network, know what correlation ids are, and vouch for each
    /// other's users.
    public var isOfCarriers: Bool {
        guard case .byNetwork = configuration.discovery else { return false }
        return true
    }

    /// The carrier that serves a network, or the one OpenID provider, whatever the network: from the cache, or by
    /// discovery, which is told the correlation id as the query item `correlation_id` where it is the carriers'.
    ///
    /// - Throws: ``OIDCError/Code/unknownNetwork``, ``OIDCError/Code/discoveryRefused``,
    ///   ``OIDCError/Code/clientRefused``, ``OIDCError/Code/metadataRefused``, ``OIDCError/Code/unusableResponse``, or a
    ///   transport code. The authorization code is untouched in every case.
    public func provider(
        for network: MCCMNC?, clientID: ClientID, correlationID: CorrelationID
    ) async throws(OIDCError) -> ProviderMetadata {
        try await discovery.provider(for: network, clientID: clientID, correlationID: correlationID)
    }

    /// Exchanges an authorization code for tokens, by one request that is never repeated.
    ///
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code;
    ///   ``OIDCError/Code/clientRefused`` without one if the provider's metadata says that it does not take the client's
    ///   authentication method, and nothing was sent; ``OIDCError/Code/unusableResponse``, or a transport code.
    ///   ``OIDCError/codeMayBeSpent`` says whether the code may be sent again.
    public func exchange(
        code: Secret, redirectURI: String, codeVerifier: CodeVerifier?, client: ClientCredentials,
        provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        let response = try await post(
            .authorizationCode(code, redirectURI: redirectURI, codeVerifier: codeVerifier), client, provider,
            correlationID)
        return try TokenResponse(
            response, limits: configuration.limits, needsIDToken: provider.userEndpoint == nil)
    }

    /// Sends a token request, once.
    func post(
        _ grant: TokenRequest.Grant, _ client: ClientCredentials, _ provider: ProviderMetadata,
        _ correlationID: CorrelationID
    ) async throws(OIDCError) -> OutboundResponse {
        let request = TokenRequest(
            grant: grant, client: client, correlationID: isOfCarriers ? correlationID : nil)
        do throws(OIDCError) {
            try provider.check(client.authentication)
        } catch {
            discovery.distrust(provider)
            throw error
        }
        let outbound = try request.outbound(
            to: provider, limits: configuration.limits, now: clock.now(), random: random)
        do throws(OutboundError) {
            return try await http.send(outbound)
        } catch {
            throw OIDCError(error, of: "The token request", codeMayBeSpent: error.mayHaveBeenSent)
        }
    }

    /// Checks an ID token with the provider's keys, which are fetched when they are not at hand.
    ///
    /// - Parameter keyFetch: Is told where keys have to be waited for.
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with the check that failed; ``OIDCError/Code/keysUnavailable`` or a
    ///   transport code if there are no keys to check it with.
    public func validate(
        idToken: Secret, expecting expectation: IDTokenExpectation, provider: ProviderMetadata,
        keyFetch: (KeyFetch) -> Void = { _ in }
    ) async throws(OIDCError) -> VerifiedIDToken {
        let rules = configuration.idTokenRules
        let token = try SignedToken(
            idToken, maximumBytes: rules.maximumBytes, allows: { rules.allows($0, at: provider) })
        let validator = IDTokenValidator(rules: rules, issuer: provider.issuer)
        let cache = try keyCaches.cache(of: provider)
        let held = try await cache.current(keyFetch)
        do throws(OIDCError) {
            return try validator.validate(token, keys: held.keys, expecting: expectation, now: clock.now())
        } catch {
            guard error.suggestsNewKeys, let newer = await cache.newer(than: held, keyFetch) else { throw error }
            return try validator.validate(token, keys: newer.keys, expecting: expectation, now: clock.now())
        }
    }

    /// The attributes of the user an ID token is about. A carrier's endpoint is told the correlation id as the query
    /// item `correlation_id`: proxies drop header fields with an underscore. An OpenID provider that has no userinfo
    /// endpoint has said what it tells in the ID token.
    ///
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with ``IDTokenCheck/userInfoSubject`` if the answer is not about the
    ///   same subject; ``OIDCError/Code/metadataRefused`` if a carrier has no userinfo endpoint;
    ///   ``OIDCError/Code/unusableResponse``, or a transport code. The code is spent in every case.
    public func userInfo(
        accessToken: Secret, about idToken: VerifiedIDToken, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> UserInfo {
        guard let endpoint = provider.userInfoEndpoint else {
            guard isOfCarriers else { return idToken.attributes }
            throw OIDCError(
                .metadataRefused, codeMayBeSpent: true, reason: "The provider has no userinfo endpoint.")
        }
        let response = try await get(
            isOfCarriers ? endpoint.appending(query: [("correlation_id", correlationID.text)]) : endpoint,
            bearing: accessToken, from: provider, step: .userInfo, upTo: configuration.limits.userInfoBytes,
            "The userinfo request", codeMayBeSpent: true)
        return try UserInfo(response, subject: idToken.subject, limits: configuration.limits)
    }
}

extension OIDCError {
    /// A key that is not among those held may have been published since; and one that is may have been replaced under its
    /// id, of which a signature that does not hold is the only sign.
    fileprivate var suggestsNewKeys: Bool { check == .key || check == .signature }
}
