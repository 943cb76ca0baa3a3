import OpenIDConnect
import Primitives

/// A sign-in request with its client and provider, and its steps at the provider. Each step throws the API's error.
///
/// A class, because it is large: each function that waits would have copies of it in its frame.
final class SignInAttempt: Sendable {
    let request: SignInRequest
    let correlationID: CorrelationID
    let client: SignInConfiguration.Client
    let target: SignInTarget
    let pause: PollPauses
    let clock: WallClock

    /// - Throws: `not_found` for an unknown provider; `invalid_request` for a request that this client may not make.
    init(
        _ request: SignInRequest, _ correlationID: CorrelationID, _ providers: Providers, pause: PollPauses = .none,
        clock: WallClock = .system
    ) throws(SignInError) {
        let target = try providers.find(request.provider)
        guard let client = target.server.clients[request.clientID] else { throw .unknownClient }
        guard request.hasOwnRedirectURI || client.mayHaveNamed(request.redirectURI) else {
            throw .redirectURINotRegistered(request.redirectURI, among: client.redirectURIs)
        }
        guard target.mobileOperator == nil || request.wasStartedHere || request.isOperatorToken else {
            throw .codeNotForNumbers
        }
        guard target.mobileOperator != nil || !request.isOperatorToken else { throw .noOperatorTokens }
        guard target.hasIDTokens || !request.needsIDToken else { throw .nothingConfirms }
        guard client.pkce == .optional || request.codeVerifier != nil || request.isOperatorToken else {
            throw .codeVerifierMissing
        }
        guard client.nonce == .client || request.nonce != nil else { throw .nonceMissing }
        self.request = request
        self.correlationID = correlationID
        self.client = client
        self.target = target
        self.pause = pause
        self.clock = clock
    }

    var relyingParty: RelyingParty { target.relyingParty }

    /// The mobile operator that is asked for the number; nil for other providers.
    var mobileOperator: MobileOperator.Settings? { target.mobileOperator?.settings }

    /// Whether the provider's tokens are stored for later use.
    private var storesTokens: Bool { target.server.rules.storesTokens }

    /// Whether the ID token may be kept for the logout at the provider. Only a browser that was sent to the provider
    /// has a session there.
    private var keepsIDToken: Bool { request.wasStartedHere && target.provider.openID?.keepsIDTokens ?? false }

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
        try await target.discover(request.network, for: client.id, correlationID)
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
