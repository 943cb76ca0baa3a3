package import Logging
package import OpenIDConnect
package import Primitives

/// One run of a request with a code or a token in its place: its client and provider, its steps at the provider, and
/// its log line. Each step throws the API's error.
///
/// A class, because it is large: each function that waits would have copies of it in its frame. One task has it.
package final class SignInRun: UserVerification {
    package let request: SignInRequest
    package let correlationID: CorrelationID
    package let client: SignInConfiguration.Client
    package let target: SignInTarget
    package let environment: Environment
    /// Says who the user is; nil if the code is redeemed in the usual way.
    let verifier: (any RequestVerifier)?
    /// The request's demand with what the configuration demands besides; nil if it demands nothing.
    private let completedDemand: AuthenticationDemand?
    /// What the log line, the report and the observer of a failure are told.
    var log: SignInLog

    /// - Throws: `not_found` for an unknown provider; `invalid_request` for a request that this client may not make.
    init(
        _ request: SignInRequest, _ log: SignInLog, in environment: Environment
    ) throws(SignInError) {
        let target = try environment.providers.find(request.provider)
        guard let client = target.server.clients[request.clientID] else { throw .unknownClient }
        guard request.hasOwnRedirectURI || client.mayHaveNamed(request.redirectURI) else {
            throw .redirectURINotRegistered(request.redirectURI ?? "", among: client.rules.redirectURIs)
        }
        verifier = request.verifier ?? target.provider.group
        try verifier?.check(request)
        if !request.standsInForCode {
            guard target.hasIDTokens || !request.needsIDToken else { throw .nothingConfirms }
            guard request.isRedirectFlow || !target.server.dependsOnState else { throw .browserNeeded }
            try target.server.check(request, of: client)
        }
        // A transaction has its own levels and its own age.
        let fixed = log.kind == .transaction ? nil : target.fixedDemand(of: client.id)
        completedDemand = try fixed.map { (fixed) throws(SignInError) in try request.demand.confirmed(by: fixed) }
        self.request = request
        self.client = client
        self.target = target
        self.environment = environment
        self.log = log
        correlationID = log.correlationID
        // Until now, the request could name anything.
        self.log.providerIsKnown = true
    }

    package var relyingParty: RelyingParty { target.relyingParty }
    package var demand: AuthenticationDemand { completedDemand ?? request.demand }

    package func begin(_ step: SignInReport.Step) { log.times.begin(step) }

    package func note(_ message: Logger.Message, _ details: Logger.Metadata, at level: Logger.Level) {
        log.note(message, details, at: level)
    }

    package var usesIssuedNonce: Bool { client.rules.nonce == .issued && !request.hasOwnRedirectURI }

    package func discoverProvider() async throws(SignInError) -> ProviderMetadata {
        begin(.discovery)
        return try await target.discover(request.network, for: client.id, correlationID)
    }

    /// Posts the code. It is spent then, unless the error says that it was not sent.
    package func exchangeCode(at provider: ProviderMetadata) async throws(SignInError) -> TokenResponse {
        try await mappingProviderErrors(await redeemCode(at: provider))
    }

    /// As ``exchangeCode(at:)``, with the protocol's own error.
    package func redeemCode(at provider: ProviderMetadata) async throws(OIDCError) -> TokenResponse {
        begin(.token)
        return try await relyingParty.exchange(
            code: request.code, redirectURI: request.redirectURI, codeVerifier: request.codeVerifier,
            client: client.credentials,
            boundTo: request.dpopKey, provider: provider, correlationID: correlationID)
    }

    /// - Parameter maximumAge: How long ago the user may have authenticated, in seconds; nil if the request alone says
    ///   that.
    package func validate(
        _ tokens: TokenResponse, from provider: ProviderMetadata, maximumAge: Int64? = nil
    ) async throws(SignInError) -> VerifiedIDToken {
        guard let idToken = tokens.idToken else { throw .nothingConfirms }
        let expectation = expectation(
            nonce: request.nonce, accessToken: tokens.accessToken, maximumAge: maximumAge)
        return try await mappingProviderErrors(
            await validate(idToken, expectation, from: provider), codeWasPosted: true)
    }

    /// Validates the ID token that an app brings in the place of a code. Whoever asked for it with a nonce knows the
    /// nonce; who found the token need not.
    package func validateCode(
        _ expectation: IDTokenExpectation, from provider: ProviderMetadata
    ) async throws(OIDCError) -> VerifiedIDToken {
        let idToken = try await validate(request.code, expectation, from: provider)
        guard request.nonce != nil || !idToken.hasNonce else { throw .failed(.nonce) }
        return idToken
    }

    /// The ID token to keep for the logout at a provider; nil if the provider has no end-session endpoint. Only a
    /// browser that was sent to the provider has a session there.
    private func idTokenHint(in tokens: TokenResponse, from provider: ProviderMetadata) -> IDTokenHint? {
        guard request.isRedirectFlow, target.provider.openID?.keepsIDTokens ?? false,
            provider.endSessionEndpoint != nil, let idToken = tokens.idToken
        else { return nil }
        return IDTokenHint(issuer: provider.issuer, token: idToken)
    }

    /// Asks a provider without ID tokens who the user is.
    private func fetchUser(
        with tokens: TokenResponse, from provider: ProviderMetadata
    ) async throws(SignInError) -> ProviderUser {
        begin(.userinfo)
        var user = try await mappingProviderErrors(
            await relyingParty.user(
                accessToken: tokens.accessToken, boundTo: tokens.accessTokenKey, userMember: tokens.userMember,
                client: client.credentials, provider: provider, correlationID: correlationID),
            codeWasPosted: true)
        if let reason = user.emailsFailure {
            note("the list of e-mail addresses cannot be read", ["reason": "\(reason)"], at: .warning)
        }
        user.attributes = requested(user.attributes)
        return user
    }

    /// Who the user is: validates the ID token, and fetches the user's attributes if they are asked for.
    func verifyUser(
        _ tokens: TokenResponse, from provider: ProviderMetadata
    ) async throws(SignInError) -> VerifiedSignIn {
        let now = environment.clock.now()
        let storesTokens = target.server.rules.storesTokens
        guard provider.userEndpoint == nil else {
            let kept = storesTokens ? ProviderTokens(tokens, at: now) : nil
            return VerifiedSignIn(try await fetchUser(with: tokens, from: provider), kept)
        }
        let idToken = try await validate(tokens, from: provider)
        let kept = storesTokens ? ProviderTokens(tokens, idToken, at: now) : nil
        let hint = idTokenHint(in: tokens, from: provider)
        guard wantsAttributes else { return VerifiedSignIn(idToken, request.unconfirmed, kept, hint: hint) }
        var userInfo = try await mappingProviderErrors(
            await fetchAttributes(about: idToken, with: tokens.accessToken, tokens.accessTokenKey, from: provider),
            codeWasPosted: true)
        if let told = request.unconfirmed { userInfo.attributes = userInfo.attributes.filled(with: told.attributes) }
        return VerifiedSignIn(idToken, userInfo, kept, hint: hint)
    }
}

/// For features, which have no log lines of runs.
extension SignInRun {
    /// A run without a log line of its own.
    package convenience init(
        _ request: SignInRequest, _ correlationID: CorrelationID, in environment: Environment
    ) throws(SignInError) {
        try self.init(request, SignInLog(request, correlationID, .signIn, in: environment), in: environment)
    }

    package var times: StepTimes { log.times }

    package var kind: SignInReport.Kind { log.kind }

    /// What was found out besides, for the log line.
    package var notes: Logger.Metadata { log.notes }

    package func note(_ finding: String, as name: String) { log.notes[name] = "\(finding)" }
}

extension AuthorizationServer {
    /// A request must have what ties the code to the sign-in that asked for it.
    fileprivate func check(
        _ request: SignInRequest, of client: SignInConfiguration.Client
    ) throws(SignInError) {
        let needsVerifier = rules.pkce != .off && (rules.nonce == .off || client.rules.pkce == .required)
        guard !needsVerifier || request.codeVerifier != nil else { throw .codeVerifierMissing }
        guard client.rules.nonce == .client || request.nonce != nil else { throw .nonceMissing }
        // Without both, the browser is what the code is tied to.
        guard rules.pkce != .off || rules.nonce == .off || request.nonce != nil else { throw .nonceNeeded }
    }
}

extension AuthenticationDemand {
    /// What the ID token of a code must confirm: both what an app asked for and what the configuration demands.
    ///
    /// The app has sent its own request to the provider, so levels that are not the configuration's are an error here;
    /// ``complete(with:)`` replaces them.
    /// - Throws: `invalid_request` if no level is in both: no ID token could have it.
    fileprivate func confirmed(by fixed: AuthenticationDemand) throws(SignInError) -> AuthenticationDemand {
        let hasCommonLevel =
            acrValues.isEmpty || fixed.acrValues.isEmpty || acrValues.contains(where: fixed.acrValues.contains)
        guard hasCommonLevel else { throw .levelNotAccepted }
        return altered(self) { $0.complete(with: fixed) }
    }
}

/// What asks a provider who its user is: a run with a code, or a backchannel authentication.
package protocol UserVerification {
    var client: SignInConfiguration.Client { get }
    var relyingParty: RelyingParty { get }
    var correlationID: CorrelationID { get }
    var demand: AuthenticationDemand { get }

    /// Starts the time of a step, and ends the step before.
    func begin(_ step: SignInReport.Step)

    func note(_ message: Logger.Message, _ details: Logger.Metadata, at level: Logger.Level)
}

extension UserVerification {
    /// What is asked for, and what the client always asks for.
    var scopes: [String] { demand.scopes + client.rules.scopes }

    package var wantsAttributes: Bool {
        demand.scopes.contains { $0 != "openid" } || client.rules.scopes.contains { $0 != "openid" }
    }

    /// What the ID token must say.
    /// - Parameter maximumAge: As for ``SignInRun/validate(_:from:maximumAge:)``.
    package func expectation(nonce: Secret?, accessToken: Secret?, maximumAge: Int64? = nil) -> IDTokenExpectation {
        var expectation = IDTokenExpectation(
            clientID: client.id, nonce: nonce?.exposed, demand: demand, accessToken: accessToken)
        if let maximumAge { expectation.demand.maximumAge = maximumAge }
        expectation.requiredAudiences = client.rules.requiredAudiences
        expectation.signingAlgorithms = client.signingAlgorithms
        return expectation
    }

    package func validate(
        _ idToken: Secret, _ expectation: IDTokenExpectation, from provider: ProviderMetadata
    ) async throws(OIDCError) -> VerifiedIDToken {
        begin(.validate)
        return try await relyingParty.validate(
            idToken: idToken, expecting: expectation, provider: provider, correlationID: correlationID
        ) { begin($0 == .began ? .keys : .validate) }
    }

    /// Fetches the user's attributes. They were asked for, so that a failure fails the sign-in of a carrier's user. The
    /// ID token of another provider has them, too, as far as the provider puts them there.
    /// - Parameter key: The key that the access token is bound to; nil for a Bearer token.
    package func fetchAttributes(
        about idToken: VerifiedIDToken, with accessToken: Secret, _ key: DPoPKey?, from provider: ProviderMetadata
    ) async throws(OIDCError) -> UserInfo {
        begin(.userinfo)
        return requested(
            try await relyingParty.userInfo(
                accessToken: accessToken, boundTo: key, about: idToken,
                signedWith: client.rules.userInfoSigningAlgorithm, orAnyOf: client.rules.usualSigningAlgorithms,
                client: client.credentials, provider: provider, correlationID: correlationID,
                orElse: relyingParty.usesNetworkDiscovery
                    ? nil
                    : { error in
                        note(
                            "userinfo failed, the ID token counts",
                            ["reason": "\(error.code.rawValue)", "cause": "\(error.reason)"], at: .warning)
                    }))
    }

    /// The provider's userinfo, without claims that neither the request nor the client has asked for.
    package func requested(_ userInfo: UserInfo) -> UserInfo {
        guard !userInfo.claims.isEmpty else { return userInfo }
        var requested = userInfo
        requested.claims = userInfo.claims.requested(by: scopes)
        return requested
    }
}

extension Environment {
    /// Performs a request with a code or a token in its place: a sign-in, a link or a transaction. Each has a
    /// correlation id, which its error names; one log line, one report, and if it fails the observer of failures is
    /// told.
    /// - Parameter body: Returns the outcome for the log, too.
    /// - Throws: What `body` throws; the errors of a request that its client may not make.
    package func perform<Value>(
        _ request: SignInRequest, as kind: SignInReport.Kind,
        _ body: (SignInRun) async throws(SignInError) -> (Value, SignInReport.Outcome)
    ) async throws(SignInError) -> Value {
        var log = SignInLog(request, request.correlationID ?? .random(from: random), kind, in: self)
        var run: SignInRun?
        return try await failures.recording(as: log.correlationID, request.sentNames) { () async throws(SignInError) in
            let started = try SignInRun(request, log, in: self)
            run = started
            do throws(SignInError) {
                let (value, outcome) = try await body(started)
                started.log.write(outcome)
                return value
            } catch {
                throw request.codeVerifier == nil ? error.withoutRetry() : error
            }
        } failed: { error in
            guard let run else {
                log.write(error)
                return nil
            }
            run.log.write(error)
            return FailedOperation(run)
        }
    }
}

/// An app's request for a sign-in with an authorization code.
///
/// A class, because it is large: each function that passes it on would copy it.
package final class SignInRequest: Sendable {
    package let provider: ProviderReference
    package let clientID: ClientID
    /// The authorization code, or what stands in for it.
    package let code: Secret
    /// Says who the user is, if ``code`` is a token that stands in for a code; nil for a code.
    package let verifier: (any RequestVerifier)?
    /// The network of the carrier; nil for other providers.
    package let network: MCCMNC?
    /// The redirect URI of the authorization request; empty for a token that stands in for the code, and nil for a code
    /// that was given without one.
    package let redirectURI: String?
    package let codeVerifier: CodeVerifier?
    /// The key that the authorization request named (RFC 9449 section 10); nil if it named none.
    let dpopKey: DPoPKey?
    /// The nonce of the authorization request; if given, the ID token must have it.
    package let nonce: Secret?
    /// What the authorization request asked of the provider.
    package let demand: AuthenticationDemand
    package let state: String?
    /// The app's id for this sign-in; a random one if nil.
    package let correlationID: CorrelationID?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    package let sentNames: [String: String]
    /// Whether this server sent the browser to the provider: the redirect URI and the nonce are its own then.
    package let isRedirectFlow: Bool
    /// Whether the browser brought the code before. It is not posted again.
    let isBroughtAgain: Bool
    /// Who sent it. Nil for a browser, which has a `state` instead, and for a link, which has a session.
    package let caller: Caller?
    /// A name for the user's device; for the list of sessions.
    package let device: String?
    /// The name that came beside the code, which nothing confirms; nil if none did.
    package let unconfirmed: UserInfo?
    /// The challenge of a redirect's start: a registration that follows must present its verifier.
    let registrationChallenge: String?

    /// Whether it came without an API key, as from a page. For ``FailedOperation/origin``.
    var isKeyless: Bool { caller?.isKeyless ?? false }

    /// Whether ``code`` is a token that stands in for a code.
    package var standsInForCode: Bool { verifier != nil }

    /// Whether the redirect URI is this server's own, or there is none.
    var hasOwnRedirectURI: Bool { isRedirectFlow || standsInForCode }

    var needsIDToken: Bool { nonce != nil && !isRedirectFlow || demand.needsIDToken }

    package init(
        provider: ProviderReference, clientID: ClientID, code: Secret,
        verifiedBy verifier: (any RequestVerifier)? = nil, network: MCCMNC? = nil, redirectURI: String? = "",
        codeVerifier: CodeVerifier? = nil, dpopKey: DPoPKey? = nil, nonce: Secret? = nil,
        demand: AuthenticationDemand = AuthenticationDemand(), state: String? = nil, correlationID: CorrelationID?,
        sentNames: [String: String] = [:], isRedirectFlow: Bool = false, isBroughtAgain: Bool = false,
        caller: Caller? = nil, device: String? = nil, unconfirmed: UserInfo? = nil,
        registrationChallenge: String? = nil
    ) {
        (self.provider, self.clientID, self.code, self.verifier) = (provider, clientID, code, verifier)
        (self.network, self.redirectURI, self.codeVerifier) = (network, redirectURI, codeVerifier)
        (self.dpopKey, self.nonce, self.demand, self.state) = (dpopKey, nonce, demand, state)
        (self.correlationID, self.sentNames, self.isRedirectFlow) = (correlationID, sentNames, isRedirectFlow)
        self.isBroughtAgain = isBroughtAgain
        (self.caller, self.device, self.unconfirmed) = (caller, device, unconfirmed)
        self.registrationChallenge = registrationChallenge
    }
}

/// The form that is stored with a sign-in under way, and the form that the observer of failures gets.
extension AuthenticationDemand {
    /// How recently the user must have authenticated: two numbers, each empty if it is nil. Nil if nothing is demanded.
    package var recency: String? {
        guard maximumAge != nil || since != nil else { return nil }
        return "\(maximumAge.map(String.init) ?? "") \(since.map { String($0.secondsSinceEpoch) } ?? "")"
    }

    /// Reads ``recency``; false for a text that it cannot be.
    package mutating func read(recency text: String) -> Bool {
        let words = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 2 else { return false }
        let numbers = words.map { Int64(Substring($0)) }
        maximumAge = numbers[0]
        since = numbers[1].map { Timestamp(secondsSinceEpoch: $0) }
        return recency?.hasSameBytes(as: text) ?? false && (0...Self.longestMaximumAge).contains(maximumAge ?? 0)
    }

    /// The scopes and what else an ID token confirms.
    package var failureMembers: [FailedOperation.Member] {
        [
            ("scopes", .words(scopes)), ("acr_values", acrValues.isEmpty ? nil : .words(acrValues)),
            ("context", context.map { .secret(Secret($0)) }),
        ]
    }
}
