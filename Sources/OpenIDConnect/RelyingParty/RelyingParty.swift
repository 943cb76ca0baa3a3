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
    let dpopNonces = DPoPNonces()
    /// Limits the fetches of newer keys on behalf of signed authorization responses.
    let responseKeyFetches: Mutex<TokenBucket>

    /// A relying party with empty caches. What it learns of carriers' issuers, it forgets when it goes.
    public convenience init(
        configuration: Configuration, http: any HTTPClient, clock: WallClock, random: RandomSource = .system,
        observer: RelyingPartyObserver = .init()
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
        uptime: Uptime = .system, random: RandomSource = .system, observer: RelyingPartyObserver = .init()
    ) {
        let configuration = altered(configuration) {
            $0.limits.isLenient = !$0.usesNetworkDiscovery
            $0.idTokenRules.isLenient = $0.limits.isLenient
        }
        self.configuration = configuration
        bulkhead = CarrierBulkhead(http: http, clock: clock, rules: configuration.bulkhead, observer: observer)
        self.clock = clock
        self.uptime = uptime
        self.random = random
        observeIDToken = observer.idToken
        let access = ProviderAccess(
            configuration: configuration, http: bulkhead, clock: clock, random: random, observer: observer)
        issuerConfigurations = IssuerConfigurations(access)
        discovery = ProviderDiscovery(
            access, IssuerVerification(access: access, issuers: issuerConfigurations, bindings: bindings))
        keyCaches = KeyCaches(access)
        let aMinute = TokenBucket(capacity: 1, secondsPerToken: 60, now: clock.now())
        logoutKeyFetches = Mutex(aMinute)
        responseKeyFetches = Mutex(aMinute)
    }

    /// The configured issuer of the one OpenID provider; nil for carriers, and for a provider without ID tokens.
    package var issuer: EndpointURL? {
        guard case .ofIssuer(let issuer) = configuration.discovery else { return nil }
        return issuer
    }

    /// Whether a text names the issuer of a provider, or of one of its tenants.
    package func isIssuer(_ text: String, of issuer: String) -> Bool {
        configuration.idTokenRules.tenants.map { $0.tenant(of: text) != nil } ?? issuer.hasSameBytes(as: text)
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
        ProtocolRecord.current?.note { $0.provider = provider }
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
        code: Secret, redirectURI: String?, codeVerifier: CodeVerifier?, client: ClientCredentials,
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

    /// Revokes a user's tokens (RFC 7009): the refresh token, with which a provider ends the access tokens, or else the
    /// access token.
    /// - Returns: False, and nothing is sent, if the provider has no endpoint for that.
    package func revoke(
        _ tokens: (access: Secret, refresh: Secret?), client: ClientCredentials, provider: ProviderMetadata,
        correlationID: CorrelationID
    ) async throws(OIDCError) -> Bool {
        guard let endpoint = provider.revocationEndpoint else { return false }
        let clientTLS = clientTLS(of: client, at: provider)
        let items = [
            (name: "token", value: (tokens.refresh ?? tokens.access).exposed),
            (name: "token_type_hint", value: tokens.refresh == nil ? "access_token" : "refresh_token"),
        ]
        return try await send("The revocation", provingPossessionOf: nil, at: provider, codeMayBeSpent: false) {
            () throws(OIDCError) in
            try request(
                items, authenticating: client, to: endpoint, presenting: clientTLS, .resource, of: provider,
                correlationID)
        } read: { (response) throws(OIDCError) in
            guard response.status == 200 else {
                throw OIDCError(
                    .unusableResponse, codeMayBeSpent: false,
                    reason: "The revocation got a response of status \(response.status).")
            }
            return true
        }
    }

    /// Validates an ID token (OpenID Connect Core section 3.1.3.7) with the provider's keys, which are fetched if they
    /// are not cached.
    ///
    /// - Throws: ``OIDCError/Code/invalidIDToken`` with the check that failed; ``OIDCError/Code/keysUnavailable`` or a
    ///   transport code if there are no keys.
    public func validate(
        idToken: Secret, expecting expectation: IDTokenExpectation, provider: ProviderMetadata,
        correlationID: CorrelationID? = nil, keyFetch: (KeyFetch) -> Void = { _ in }
    ) async throws(OIDCError) -> VerifiedIDToken {
        if let record = ProtocolRecord.current {
            let moment = expectation.receivedAt ?? clock.now()
            record.note {
                $0.validation = .init(idToken: idToken, expectation: expectation, provider: provider, at: moment)
            }
        }
        let result = await Result(
            awaiting: try await verified(idToken, expectation, provider, correlationID, keyFetch)
        ).mapError { (error: OIDCError) in error.at(.init(to: provider.tokenEndpoint)) }
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
            idToken, maximumBytes: rules.maximumBytes, type: .marked(rules.types),
            signedWith: expectation.signingAlgorithms)
        let held = provider
        let provider = try await listing(token.algorithm, held, correlationID)
        // It was fetched again.
        if provider !== held {
            ProtocolRecord.current?.note {
                $0.provider = provider
                $0.validation?.provider = provider
            }
        }
        let validator = IDTokenValidator(rules: rules, issuer: provider.issuer)
        let cache = try keyCaches.cache(of: provider)
        let keys = try await cache.current(for: correlationID, keyFetch)
        ProtocolRecord.current?.note { $0.add(keys.keys) }
        do throws(OIDCError) {
            return try validator.validate(
                token, keys: keys.keys, expecting: expectation, now: expectation.receivedAt ?? clock.now())
        } catch {
            guard error.suggestsNewKeys else { throw error }
            guard let newer = await cache.newer(than: keys, for: correlationID, keyFetch) else {
                // The tokens of a refresh can wait for the keys. The code of a sign-in is spent.
                throw expectation.original == nil ? error : .newerKeysUnavailable
            }
            ProtocolRecord.current?.note { $0.add(newer.keys) }
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

    /// The provider's keys, for messages that a feature verifies.
    /// - Parameter url: Of another key set that it signs them with; nil for the one that its metadata names.
    package func keys(at url: EndpointURL?, clientID: ClientID) async throws(OIDCError) -> KeyCache {
        if let url, let issuer { return keyCaches.cache(of: issuer.text, at: url) }
        let correlationID = CorrelationID.random(from: random)
        return try keyCaches.cache(
            of: try await provider(for: nil, clientID: clientID, correlationID: correlationID))
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

    /// A form for an endpoint of an authorization server.
    /// - Parameter client: Authenticates; nil for a form that needs no more.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the client's key cannot sign.
    func request(
        _ items: [(name: String, value: String)], authenticating client: ClientCredentials?, to url: EndpointURL,
        presenting clientTLS: ClientTLS?, _ step: OutboundRequest.Destination.Step, of provider: ProviderMetadata,
        _ correlationID: CorrelationID
    ) throws(OIDCError) -> OutboundRequest {
        var form = items
        var headers: [(name: String, value: String)] = [
            ("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json"),
        ]
        try client?.authenticate(
            &form, &headers, to: url, of: provider, id: random.token(bytes: 16), now: clock.now())
        form = configuration.dialect.spelled(form)
        let isGet = configuration.dialect.hasTokenRequestsInQuery
        var request = OutboundRequest(
            method: isGet ? .get : .post, url: isGet ? url.appending(query: form) : url,
            headers: isGet ? Array(headers.dropFirst()) : headers, body: isGet ? [] : PercentEncoding.form(form),
            timeout: configuration.limits.tokenTimeout, maximumBodyBytes: configuration.limits.tokenBytes,
            destination: .init(carrier: provider.issuer, step: step), correlationID: correlationID)
        request.clientTLS = clientTLS
        return request
    }

    /// Sends a request, with a proof if there is a key. If the server demands a nonce in the proof, the request is sent
    /// once more with the nonce that it gave: the server has done nothing with the first one (RFC 9449 sections 8 and
    /// 9). Both together have the time of one.
    /// - Parameters:
    ///   - key: Nil for a request without a proof.
    ///   - provider: Whose metadata says which claims proofs have.
    ///   - accessToken: The access token in the request, bound to the key; nil at an authorization server.
    ///   - codeMayBeSpent: Whether the authorization code may be used up after a failure of the transport; nil if it
    ///     may be where the request may have been sent.
    ///   - make: Makes the request. What a server accepts once, such as a client assertion, is new in the second one.
    func send<Value>(
        _ what: StaticString, provingPossessionOf key: DPoPKey?, at provider: ProviderMetadata,
        accessToken: Secret? = nil, codeMayBeSpent: Bool?, _ make: () throws(OIDCError) -> OutboundRequest,
        read: (OutboundResponse) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        guard let key else {
            return try await bulkhead.send(try make(), what, codeMayBeSpent: codeMayBeSpent, read: read)
        }
        let start = uptime.elapsed()
        var demanded: DPoPNonce?
        while true {
            var request = try make()
            let server = DPoPNonces.Server(of: request.url, hasResources: accessToken != nil)
            let proof = try key.proof(
                for: request, accessToken: accessToken, nonce: demanded ?? dpopNonces[server],
                claims: provider.demands.dpopClaims, id: random.token(bytes: 16), now: clock.now())
            request.headers.append(("DPoP", proof.exposed))
            let isSecond = demanded != nil
            if isSecond { request.timeout -= uptime.elapsed() - start }
            let value: Value? = try await bulkhead.send(request, what, codeMayBeSpent: codeMayBeSpent) {
                (response) throws(OIDCError) in
                let nonce = response.dpopNonce.flatMap(DPoPNonce.init)
                guard DPoPChallenge.isIn(response, configuration.limits, hasAccessToken: accessToken != nil) else {
                    if let nonce, (200..<300).contains(response.status) { dpopNonces.keep(nonce, of: server) }
                    return try read(response)
                }
                guard let nonce, !isSecond else {
                    throw OIDCError(
                        .unusableResponse, carrierError: "use_dpop_nonce", codeMayBeSpent: codeMayBeSpent ?? true,
                        reason: isSecond
                            ? "\(what) got a demand for another DPoP nonce after it had the one demanded."
                            : "\(what) got a demand for a DPoP nonce, and no valid nonce.")
                }
                dpopNonces.keep(nonce, of: server)
                demanded = nonce
                return nil
            }
            if let value { return value }
        }
    }

    /// Sends a request for what an access token gives access to (RFC 6750 section 2.1, RFC 9449 section 7.1, RFC 8705
    /// section 3), with a proof if the token is bound to a key.
    /// - Parameter change: Makes another request of a `GET`.
    func send<Value>(
        _ what: StaticString, with accessToken: Secret, _ key: DPoPKey?, _ clientTLS: ClientTLS?, to url: EndpointURL,
        of provider: ProviderMetadata, _ step: OutboundRequest.Destination.Step, upTo bytes: Int,
        accepting mediaType: String = "application/json", _ correlationID: CorrelationID?, codeMayBeSpent: Bool,
        change: (inout OutboundRequest) -> Void = { _ in }, read: (OutboundResponse) throws(OIDCError) -> Value
    ) async throws(OIDCError) -> Value {
        let placed = configuration.dialect.place(accessToken, ofType: key == nil ? "Bearer" : "DPoP", in: url)
        var request = OutboundRequest(
            method: .get, url: placed.url,
            headers: placed.field.map { [$0, ("Accept", mediaType)] } ?? [("Accept", mediaType)],
            timeout: configuration.limits.userInfoTimeout, maximumBodyBytes: bytes,
            destination: .init(carrier: provider.issuer, step: step), correlationID: correlationID)
        request.clientTLS = clientTLS
        change(&request)
        let made = request
        return try await send(
            what, provingPossessionOf: key, at: provider, accessToken: accessToken, codeMayBeSpent: codeMayBeSpent,
            { made }, read: read)
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
