import OpenIDConnect
import Primitives

/// A sign-in request with its client and provider, and its steps at the provider. Each step throws the API's error.
///
/// A class, because it is large: each function that waits would have copies of it in its frame.
final class SignInAttempt: Sendable {
    let request: SignInRequest
    let correlationID: CorrelationID
    let client: SignInConfiguration.Client
    private let discoveryUI: EndpointURL?
    let relyingParty: RelyingParty
    /// Whether the provider's tokens are stored for later use.
    let storesTokens: Bool
    /// Whether the ID token may be kept for the logout at the provider.
    private let keepsIDToken: Bool
    /// The mobile operator that is asked for the number; nil for other providers.
    let mobileOperator: SignInConfiguration.MobileOperator?
    let pause: PollPauses
    let clock: WallClock

    /// - Throws: `not_found` for an unknown provider; `invalid_request` for a request that this client may not make.
    init(
        _ request: SignInRequest, _ correlationID: CorrelationID, _ configuration: SignInConfiguration,
        _ relyingParties: [String: RelyingParty], pause: PollPauses = .none,
        clock: WallClock = .system
    ) throws(SignInError) {
        guard let provider = configuration.providers[request.provider],
            let relyingParty = relyingParties[request.provider]
        else { throw .unknownProvider(in: configuration) }
        guard let client = provider.clients[request.clientID] else { throw .unknownClient }
        guard request.hasOwnRedirectURI || client.mayHaveNamed(request.redirectURI) else {
            throw .redirectURINotRegistered(request.redirectURI, among: client.redirectURIs)
        }
        guard provider.kind != .camara || request.wasStartedHere || request.isOperatorToken else {
            throw .codeNotForNumbers
        }
        guard provider.kind == .camara || !request.isOperatorToken else { throw .noOperatorTokens }
        guard provider.kind != .oauth2 || !request.needsIDToken else { throw .nothingConfirms }
        guard client.pkce == .optional || request.codeVerifier != nil || request.isOperatorToken else {
            throw .codeVerifierMissing
        }
        guard client.nonce == .client || request.nonce != nil else { throw .nonceMissing }
        self.request = request
        self.correlationID = correlationID
        self.client = client
        self.relyingParty = relyingParty
        self.pause = pause
        self.clock = clock
        discoveryUI = provider.discoveryUI
        storesTokens = provider.storesTokens
        mobileOperator = provider.mobileOperator
        // Only a browser that was sent to the provider has a session there.
        keepsIDToken = provider.keepsIDTokens && request.wasStartedHere
    }

    /// Whether ``NonceIssuer`` must have issued the request's nonce.
    var usesIssuedNonce: Bool { client.nonce == .issued && !request.wasStartedHere }

    /// What this sign-in asks for.
    var scopes: [String] { request.scopes + client.scopes }

    /// Whether the user's attributes are asked for.
    var wantsAttributes: Bool {
        request.scopes.contains { $0 != "openid" } || client.scopes.contains { $0 != "openid" }
    }

    /// The provider's userinfo, without claims that neither the request nor the client has asked for.
    private func requested(_ userInfo: UserInfo) -> UserInfo {
        guard !userInfo.claims.isEmpty else { return userInfo }
        var requested = userInfo
        requested.claims = userInfo.claims.requested(by: scopes)
        return requested
    }

    func discoverProvider() async throws(SignInError) -> ProviderMetadata {
        try await asked(
            await relyingParty.provider(for: request.network, clientID: client.id, correlationID: correlationID),
            discoveryUI: discoveryUI)
    }

    /// Posts the code. It is spent then, unless the error says that it was not sent.
    func exchangeCode(at provider: ProviderMetadata) async throws(SignInError) -> TokenResponse {
        if let mobileOperator, request.isOperatorToken {
            return try await exchangeOperatorToken(for: mobileOperator.scopes, at: provider)
        }
        guard mobileOperator == nil else { return try await askedForTokens(await redeemCode(at: provider)) }
        return try await asked(await redeemCode(at: provider))
    }

    private func redeemCode(at provider: ProviderMetadata) async throws(OIDCError) -> TokenResponse {
        try await relyingParty.exchange(
            code: request.code, redirectURI: request.redirectURI, codeVerifier: request.codeVerifier,
            client: client.credentials,
            boundTo: request.dpopKey, provider: provider, correlationID: correlationID)
    }

    /// - Parameters:
    ///   - maximumAuthenticationAge: How long ago the user may have authenticated, in seconds; nil if the request alone
    ///     says that.
    ///   - keyFetch: Called if validation waits for the provider's keys.
    func validate(
        _ tokens: TokenResponse, from provider: ProviderMetadata, maximumAuthenticationAge: Int64? = nil,
        keyFetch: (KeyFetch) -> Void
    ) async throws(SignInError) -> VerifiedIDToken {
        var expectation = IDTokenExpectation(
            clientID: client.id, nonce: request.nonce?.exposed, acrValues: request.acrValues,
            maximumAuthenticationAge: maximumAuthenticationAge ?? request.authentication.maximumAge,
            context: request.context, accessToken: tokens.accessToken)
        expectation.authenticatedSince = request.authentication.since
        expectation.signingAlgorithms = client.signingAlgorithms
        guard let idToken = tokens.idToken else { throw .nothingConfirms }
        return try await asked(
            await relyingParty.validate(
                idToken: idToken, expecting: expectation, provider: provider, correlationID: correlationID,
                keyFetch: keyFetch), codeWasPosted: true)
    }

    /// The ID token to keep for the logout at a provider; nil if the provider has no end-session endpoint.
    func idTokenHint(in tokens: TokenResponse, from provider: ProviderMetadata) -> IDTokenHint? {
        guard keepsIDToken, provider.endSessionEndpoint != nil, let idToken = tokens.idToken else { return nil }
        return IDTokenHint(issuer: provider.issuer, token: idToken)
    }

    /// Asks a provider without ID tokens who the user is.
    func fetchUser(
        with tokens: TokenResponse, from provider: ProviderMetadata
    ) async throws(SignInError) -> ProviderUser {
        var user = try await asked(
            await relyingParty.user(
                accessToken: tokens.accessToken, boundTo: tokens.accessTokenKey, client: client.credentials,
                provider: provider, correlationID: correlationID),
            codeWasPosted: true)
        user.attributes = requested(user.attributes)
        return user
    }

    /// Fetches the user's attributes. They were asked for, so that a failure fails the sign-in.
    func fetchAttributes(
        about idToken: VerifiedIDToken, with tokens: TokenResponse, from provider: ProviderMetadata
    ) async throws(SignInError) -> UserInfo {
        requested(
            try await asked(
                await relyingParty.userInfo(
                    accessToken: tokens.accessToken, boundTo: tokens.accessTokenKey, about: idToken,
                    signedWith: client.userInfoSigningAlgorithm, orAnyOf: client.usualSigningAlgorithms,
                    client: client.credentials, provider: provider, correlationID: correlationID),
                codeWasPosted: true))
    }

    /// Who the user is: validates the ID token, and fetches the user's attributes if they are asked for.
    func verifyUser(
        _ tokens: TokenResponse, from provider: ProviderMetadata, _ log: inout SignInLog
    ) async throws(SignInError) -> VerifiedSignIn {
        let now = clock.now()
        guard provider.userEndpoint == nil else {
            log.begin(.userinfo)
            let kept = storesTokens ? ProviderTokens(tokens, at: now) : nil
            return VerifiedSignIn(try await fetchUser(with: tokens, from: provider), kept)
        }
        log.begin(.validate)
        let idToken = try await validate(tokens, from: provider) { log.note($0) }
        let kept = storesTokens ? ProviderTokens(tokens, idToken, at: now) : nil
        let hint = idTokenHint(in: tokens, from: provider)
        guard wantsAttributes else { return VerifiedSignIn(idToken, nil, kept, hint: hint) }
        log.begin(.userinfo)
        let userInfo = try await fetchAttributes(about: idToken, with: tokens, from: provider)
        return VerifiedSignIn(idToken, userInfo, kept, hint: hint)
    }
}
