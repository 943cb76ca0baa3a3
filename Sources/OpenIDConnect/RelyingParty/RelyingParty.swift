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
            idToken, maximumBytes: rules.maximumBytes, type: .marked(rules.types),
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
