public import Primitives
import Synchronization

/// The relying party of sign-ins with mobile carriers, or with one OpenID provider: discovery, token request, ID token,
/// userinfo.
///
/// ```swift
/// let provider = try await relyingParty.provider(for: network, clientID: id, correlationID: correlation)
/// let tokens = try await relyingParty.exchange(code: code, …, provider: provider, correlationID: correlation)
/// guard let idToken = tokens.idToken else { … }  // only providers without ID tokens, such as OAuth 2.0 ones
/// let user = try await relyingParty.validate(idToken: idToken, expecting: expectation, provider: provider)
/// // user.issuer and user.subject identify the user.
/// ```
///
/// Caches providers' metadata and keys. Use one instance for all sign-ins.
public final class RelyingParty: Sendable {
    /// Which provider, and by which rules.
    public struct Configuration: Sendable {
        /// How a provider's metadata is found.
        public enum Discovery: Sendable, Hashable {
            /// From this discovery service, with `client_id` and `mccmnc`: carriers.
            case byNetwork(EndpointURL)
            /// From the issuer itself (OpenID Connect Discovery section 4): one OpenID provider.
            case ofIssuer(EndpointURL)
            /// Configured: a provider without ID tokens, which publishes no metadata.
            case fixed(ProviderMetadata)
        }

        /// How a provider's metadata is found.
        public var discovery: Discovery
        /// Which schemes the providers' URLs may have.
        public var urlPolicy: EndpointURL.Policy = .httpsOnly
        /// The hosts that carriers' issuers and endpoints may be on.
        public var trustedHosts: TrustedHosts = .zenKeyCarriers
        /// The issuers of networks, and the word of the administrator that their metadata is right. A network that is
        /// not listed keeps the issuer first seen, and its metadata is verified with the issuer.
        public var pinnedIssuers: [MCCMNC: String] = [:]
        /// What any of the clients accepts its tokens to be signed with. A provider that lists none of it cannot be
        /// used.
        public var signingAlgorithms = SigningAlgorithm.standard
        /// What is demanded of ID tokens.
        public var idTokenRules = IDTokenRules()
        /// Timeouts and sizes of requests.
        public var limits = OutboundLimits()
        /// How long metadata and keys are kept.
        public var cache = CacheRules()
        /// Which extensions of the protocols are used.
        public var extensions = ProtocolExtensions()
        /// Whether ``ExtensionUse/auto`` for ``ProtocolExtensions/dpop`` binds tokens wherever the provider supports
        /// it: because they are stored, where a thief could find them; or because the provider may demand bound tokens
        /// of this client alone, which its metadata does not tell (`dpop_bound_access_tokens` of a client's
        /// registration).
        public var prefersBoundTokens = false
        /// Whether the response to a code must have an ID token. Only where a further request with the access token
        /// names the user may it be left out.
        public var requiresIDTokens = true
        /// Whether backchannel authentication requests are signed.
        public var signedBackchannelRequests = ExtensionUse.auto
        /// How many requests a provider may keep under way, and when its circuit breakers open.
        public var bulkhead = CarrierBulkheadRules()

        /// Whether the providers are carriers: they are found by network, accept correlation ids, and vouch for each
        /// other's users.
        public var usesNetworkDiscovery: Bool {
            guard case .byNetwork = discovery else { return false }
            return true
        }

        /// For carriers.
        public init(discoveryURL: EndpointURL) {
            discovery = .byNetwork(discoveryURL)
            idTokenRules.types = IDTokenType.zenKeyCarriers
        }

        /// For one provider without ID tokens.
        /// - Parameter issuer: Names the provider in identities, because its responses do not name it.
        public init(
            issuer: EndpointURL, authorizationEndpoint: EndpointURL, tokenEndpoint: EndpointURL,
            userEndpoint: UserEndpoint
        ) {
            discovery = .fixed(
                ProviderMetadata(
                    issuer: issuer.text, authorizationEndpoint: authorizationEndpoint, tokenEndpoint: tokenEndpoint,
                    userEndpoint: userEndpoint))
        }

        /// For one OpenID provider. Its endpoints may be on any host, because the issuer itself names them.
        public init(issuer: EndpointURL) {
            discovery = .ofIssuer(issuer)
            trustedHosts = .all
        }
    }

    package let configuration: Configuration
    let bulkhead: CarrierBulkhead
    let clock: WallClock
    let uptime: Uptime
    let random: RandomSource
    private let observeIDToken: (@Sendable (IDTokenExplanation, CorrelationID?) -> Void)?
    let discovery: ProviderDiscovery
    let keyCaches: KeyCaches
    let issuerConfigurations: IssuerConfigurations
    /// Limits the fetches of newer keys on behalf of logout tokens.
    let logoutKeyFetches: Mutex<TokenBucket>
    /// The nonces that servers demand in proofs.
    let dpopNonces = DPoPNonces()
    /// Limits the fetches of newer keys on behalf of signed authorization responses.
    let responseKeyFetches: Mutex<TokenBucket>

    /// A relying party with empty caches. What it learns of carriers' issuers, it forgets when it goes.
    /// - Parameter http: Sends the requests.
    public convenience init(
        configuration: Configuration, http: any HTTPClient, clock: WallClock, random: RandomSource = .system,
        observer: RelyingPartyObserver = .none
    ) {
        self.init(
            configuration: configuration, http: http, bindings: MemoryIssuerBindings(), clock: clock, random: random,
            observer: observer)
    }

    /// - Parameters:
    ///   - bindings: Keeps what is known of carriers' issuers.
    ///   - uptime: Measures how much of a request's time is left for the second one with a demanded nonce.
    package init(
        configuration: Configuration, http: any HTTPClient, bindings: any IssuerBindings, clock: WallClock,
        uptime: Uptime = .system, random: RandomSource = .system, observer: RelyingPartyObserver = .none
    ) {
        let http = CarrierBulkhead(http: http, clock: clock, rules: configuration.bulkhead, observer: observer)
        self.configuration = configuration
        bulkhead = http
        self.clock = clock
        self.uptime = uptime
        self.random = random
        observeIDToken = observer.idToken
        issuerConfigurations = IssuerConfigurations(
            configuration: configuration, http: http, clock: clock, random: random)
        let verification = IssuerVerification(
            configuration: configuration, issuers: issuerConfigurations, bindings: bindings, observer: observer)
        discovery = ProviderDiscovery(
            configuration: configuration, http: http, verification: verification, clock: clock, random: random)
        keyCaches = KeyCaches(capacity: configuration.cache.maximumNetworks) { issuer, url in
            KeyCache(
                url: url, http: http, clock: clock, limits: configuration.limits, rules: configuration.cache,
                destination: .init(carrier: issuer, step: .keys), random: random,
                refreshed: { observer.keyRefresh(issuer, $0) })
        }
        let aMinute = TokenBucket(capacity: 1, secondsPerToken: 60, now: clock.now())
        logoutKeyFetches = Mutex(aMinute)
        responseKeyFetches = Mutex(aMinute)
    }

    /// The configured issuer of the one OpenID provider; nil for carriers, and for a provider without ID tokens.
    package var issuer: EndpointURL? {
        guard case .ofIssuer(let issuer) = configuration.discovery else { return nil }
        return issuer
    }

    /// See ``Configuration/usesNetworkDiscovery``.
    public var usesNetworkDiscovery: Bool { configuration.usesNetworkDiscovery }

    /// The carrier that serves a network, or the one provider, whatever the network: from the cache, or by discovery.
    /// The carriers' discovery receives the correlation id as the query item `correlation_id`.
    ///
    /// - Throws: ``OIDCError/Code/unknownNetwork``, ``OIDCError/Code/discoveryRefused``,
    ///   ``OIDCError/Code/clientRefused``, ``OIDCError/Code/metadataRefused``, ``OIDCError/Code/unusableResponse``, or
    ///   a transport code. The authorization code is untouched in every case.
    public func provider(
        for network: MCCMNC?, clientID: ClientID, correlationID: CorrelationID
    ) async throws(OIDCError) -> ProviderMetadata {
        let provider = try await discovery.provider(for: network, clientID: clientID, correlationID: correlationID)
        ProtocolRecord.current?.note(provider)
        return provider
    }

    /// The carrier that serves a network, or the one provider, as far as that is known without a request.
    package func knownProvider(for network: MCCMNC?) -> ProviderMetadata? { discovery.knownProvider(for: network) }

    /// Exchanges an authorization code for tokens (RFC 6749 section 4.1.3), by one request that is never repeated. Only
    /// if the provider demands a nonce in its proof (RFC 9449 section 8), and so has not redeemed the code, it gets the
    /// request once more.
    ///
    /// - Parameter key: The key that the authorization request named; nil if it named none. Then the tokens are bound
    ///   to a new key, if the provider's tokens are bound at all.
    /// - Throws: ``OIDCError/Code/carrierRefused`` or ``OIDCError/Code/clientRefused`` with the provider's error code;
    ///   ``OIDCError/Code/clientRefused`` without one if the provider's metadata does not list the client's
    ///   authentication method, and nothing was sent; ``OIDCError/Code/unusableResponse``, or a transport code.
    ///   ``OIDCError/codeMayBeSpent`` says whether the code may be sent again.
    public func exchange(
        code: Secret, redirectURI: String, codeVerifier: CodeVerifier?, client: ClientCredentials,
        boundTo key: DPoPKey? = nil, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        try await post(
            .authorizationCode(code, redirectURI: redirectURI, codeVerifier: codeVerifier), client, boundTo: key,
            provider, correlationID, idToken: idTokenPresence(at: provider))
    }

    /// Asks for tokens with an assertion about a subject, which authenticates the client, too (RFC 7523 section 2.1).
    /// The one request is never repeated.
    /// - Throws: As ``exchange(code:redirectURI:codeVerifier:client:boundTo:provider:correlationID:)``.
    package func tokens(
        about subject: Secret, scopes: [String], client: ClientCredentials, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        try await post(
            .assertion(of: subject, scopes: scopes), client, boundTo: nil, provider, correlationID,
            idToken: idTokenPresence(at: provider))
    }

    /// Asks for an access token of the client itself (RFC 6749 section 4.4).
    /// - Throws: As ``exchange(code:redirectURI:codeVerifier:client:boundTo:provider:correlationID:)``.
    package func clientTokens(
        for scopes: [String], client: ClientCredentials, provider: ProviderMetadata, correlationID: CorrelationID
    ) async throws(OIDCError) -> TokenResponse {
        try await post(
            .clientCredentials(scopes: scopes), client, boundTo: nil, provider, correlationID, idToken: .ignored)
    }

    /// Whether the response to a code, or to what stands in for it, has an ID token.
    func idTokenPresence(at provider: ProviderMetadata) -> TokenResponse.IDTokenPresence {
        guard provider.hasIDTokens else { return .ignored }
        return configuration.requiresIDTokens ? .required : .optional
    }

    /// Sends a token request, once. `send` is in `RelyingParty+DPoP.swift`, also for requests without a proof.
    /// - Parameter key: As in ``exchange(code:redirectURI:codeVerifier:client:boundTo:provider:correlationID:)``.
    func post(
        _ grant: TokenRequest.Grant, _ client: ClientCredentials, boundTo key: DPoPKey?, _ provider: ProviderMetadata,
        _ correlationID: CorrelationID, idToken presence: TokenResponse.IDTokenPresence
    ) async throws(OIDCError) -> TokenResponse {
        let key = key ?? newDPoPKey(at: provider)
        let request = TokenRequest(
            grant: grant, client: client, correlationID: usesNetworkDiscovery ? correlationID : nil)
        let clientTLS = clientTLS(of: client, at: provider)
        try check(client, at: provider, for: provider.tokenEndpoint)
        try demand(of: provider, for: provider.tokenEndpoint) { () throws(OIDCError) in
            try provider.check(client.authentication)
            _ = try provider.tokenEndpoint(presenting: clientTLS)
        }
        var tokens = try await send("The token request", provingPossessionOf: key, at: provider, codeMayBeSpent: nil) {
            () throws(OIDCError) in
            var outbound = try request.outbound(
                to: provider, presenting: clientTLS, limits: configuration.limits, now: clock.now(), random: random)
            outbound.correlationID = correlationID
            return outbound
        } read: { (response) throws(OIDCError) in
            do throws(OIDCError) {
                return try TokenResponse(
                    response, limits: configuration.limits, idToken: presence,
                    mayLackType: !provider.hasIDTokens, proofKey: key, mustBeBound: dpop(at: provider) == .required)
            } catch {
                throw client.explained(error)
            }
        }
        guard let idToken = tokens.idToken, client.idTokenDecryption != nil else { return tokens }
        do throws(OIDCError) {
            tokens.idToken = try client.signedToken(in: idToken, rules: configuration.idTokenRules)
            return tokens
        } catch {
            throw error.at(.init(to: provider.tokenEndpoint))
        }
    }

    /// What a request needs of a provider's metadata. Metadata that lacks it is fetched again for the next request.
    /// - Parameter endpoint: Names the request in the error.
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
    /// - Parameter endpoint: Names the request in the error.
    func check(
        _ client: ClientCredentials, at provider: ProviderMetadata, for endpoint: EndpointURL
    ) throws(OIDCError) {
        try demand(of: provider, for: endpoint) { () throws(OIDCError) in
            try client.checkClientTLS(at: provider, configuration.extensions.mutualTLS)
        }
    }

    /// Validates an ID token (OpenID Connect Core section 3.1.3.7) with the provider's keys, which are fetched if they
    /// are not cached.
    ///
    /// - Parameters:
    ///   - correlationID: Of the sign-in, for the log.
    ///   - keyFetch: Is called when a wait for keys begins and ends.
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with the check that failed; ``OIDCError/Code/keysUnavailable`` or a
    ///   transport code if there are no keys.
    public func validate(
        idToken: Secret, expecting expectation: IDTokenExpectation, provider: ProviderMetadata,
        correlationID: CorrelationID? = nil, keyFetch: (KeyFetch) -> Void = { _ in }
    ) async throws(OIDCError) -> VerifiedIDToken {
        if let record = ProtocolRecord.current {
            let moment = expectation.receivedAt ?? clock.now()
            record.note(.init(idToken: idToken, expectation: expectation, provider: provider, at: moment))
        }
        let result: Result<VerifiedIDToken, OIDCError>
        do throws(OIDCError) {
            result = .success(try await verified(idToken, expectation, provider, correlationID, keyFetch))
        } catch {
            result = .failure(error.at(.init(to: provider.tokenEndpoint)))
        }
        if let observeIDToken {
            let moment = expectation.receivedAt ?? clock.now()
            observeIDToken(
                await explain(idToken: idToken, expecting: expectation, provider: provider, at: moment), correlationID)
        }
        return try result.get()
    }

    private func verified(
        _ idToken: Secret, _ expectation: IDTokenExpectation, _ provider: ProviderMetadata,
        _ correlationID: CorrelationID?, _ keyFetch: (KeyFetch) -> Void
    ) async throws(OIDCError) -> VerifiedIDToken {
        let rules = configuration.idTokenRules
        let token = try SignedToken(
            idToken, maximumBytes: rules.maximumBytes, type: .idToken(rules.types),
            signedWith: expectation.signingAlgorithms)
        let held = provider
        let provider = try await listing(token.algorithm, held, correlationID)
        if provider !== held { ProtocolRecord.current?.replaceProvider(provider) }
        let validator = IDTokenValidator(rules: rules, issuer: provider.issuer)
        let cache = try keyCaches.cache(of: provider)
        let keys = try await cache.current(for: correlationID, keyFetch)
        ProtocolRecord.current?.note(keys.keys)
        do throws(OIDCError) {
            return try validator.validate(
                token, keys: keys.keys, expecting: expectation, now: expectation.receivedAt ?? clock.now())
        } catch {
            guard error.suggestsNewKeys else { throw error }
            guard let newer = await cache.newer(than: keys, for: correlationID, keyFetch) else {
                // The tokens of a refresh can wait for the keys. The code of a sign-in is spent.
                throw expectation.original == nil ? error : .newerKeysUnavailable
            }
            ProtocolRecord.current?.note(newer.keys)
            return try validator.validate(
                token, keys: newer.keys, expecting: expectation, now: expectation.receivedAt ?? clock.now())
        }
    }

    /// The keys of another issuer, by its OpenID configuration, such as a user's former carrier.
    /// - Parameter issuer: On a trusted host, without a query.
    package func keys(of issuer: EndpointURL) async throws(OIDCError) -> KeyCache {
        let metadata = try await issuerConfigurations.metadata(of: issuer)
        return keyCaches.cache(of: metadata.issuer, at: metadata.jwksURI)
    }

    /// The provider's metadata, which must list an algorithm that it signed with. A provider that has changed its
    /// algorithm is followed at once: the metadata is fetched again, at most once in ``CacheRules/retryInterval``.
    ///
    /// - Throws: The check ``IDTokenCheck/algorithm``.
    func listing(
        _ algorithm: SigningAlgorithm, _ provider: ProviderMetadata, _ correlationID: CorrelationID?
    ) async throws(OIDCError) -> ProviderMetadata {
        if provider.signingAlgorithms.contains(algorithm) { return provider }
        guard
            let newer = await discovery.newer(than: provider, correlationID: correlationID ?? .random(from: random)),
            newer.signingAlgorithms.contains(algorithm)
        else { throw .failed(.algorithm) }
        return newer
    }
}

extension OIDCError {
    fileprivate static let newerKeysUnavailable = OIDCError(
        .keysUnavailable, codeMayBeSpent: true,
        reason: "The provider signed with a key that its cached key set does not have, and the key set cannot be "
            + "fetched now.")

    /// A missing key may have been published since. A key may also have been replaced under the same id, which shows
    /// only as a signature that does not verify.
    fileprivate var suggestsNewKeys: Bool { check == .key || check == .signature }
}
