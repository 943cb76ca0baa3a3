import Crypto
public import OpenIDConnect
public import Primitives
import Storage

/// Signs a user in whose browser is sent to the carrier, or to another provider, and back: for web frontends, secondary devices, and apps that
/// use a browser session.
///
/// `state`, `nonce` and the code verifier are made and kept here; each `state` is good once, for ten minutes.
public struct RedirectSignIn: Sendable {
    /// How long a browser may be away, in seconds.
    public static let lifetime: Int64 = 600

    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let signIn: SignInWithCode
    let link: LinkIdentity
    let notes: SealedNotes
    let handover: SessionHandover
    let starts: StartRate
    let clock: WallClock
    let random: RandomSource

    /// The providers that users can sign in with, in the order of their names in paths.
    public var providers: [(id: String, provider: SignInConfiguration.Provider)] {
        configuration.providers.filter { relyingParties[$0.key] != nil }.sorted { $0.key < $1.key }
            .map { (id: $0.key, provider: $0.value) }
    }

    /// Begins: says where the browser goes.
    /// - Parameter browser: What the browser's cookie holds from before, so that several tabs share it.
    /// - Throws: What is wrong with the request, where the frontend cannot be told by a redirect.
    public func start(_ request: RedirectStart, browser: Secret?) async throws(SignInError) -> RedirectStep {
        let correlationID = request.correlationID ?? .random(from: random)
        do throws(SignInError) {
            let client = try client(for: request)
            let browser = request.clientType.isBoundToBrowser ? browser ?? Secret(random.token()) : nil
            let attempt = RedirectAttempt(
                request, clientID: client.id, scopes: scopes(of: request, client),
                correlationID: correlationID, browserHash: browser.map(Self.hash))
            guard starts.admits(at: clock.now()) else { throw .tooManyStarts }
            let isFoundByNetwork = configuration.providers[request.provider]?.kind == .zenkey
            guard !isFoundByNetwork || request.network != nil else {
                if let url = configuration.providers[request.provider]?.authorizationURL {
                    return try await askWhicheverCarrier(attempt, at: url, browser)
                }
                return try await askForCarrier(attempt, browser)
            }
            return try await askProvider(
                attempt, isFoundByNetwork ? request.network : nil, loginHintToken: nil, browser)
        } catch {
            throw error.with(correlationID)
        }
    }

    /// Goes on with what the browser brought back.
    /// - Parameters:
    ///   - session: The token of the session that the browser has, if it has one.
    ///   - device: What the user would call the device that the browser runs on.
    /// - Throws: Where no frontend can be told: the `state` is unknown, was used, has expired, or is another browser's.
    public func finish(
        _ answer: RedirectAnswer, browser: Secret?, session: Secret? = nil, device: String? = nil
    ) async throws(SignInError) -> RedirectStep {
        let attempt = try await attempt(for: answer, browser)
        let request: SignInRequest
        do throws(SignInError) {
            if let error = answer.error { throw .refusedAtAuthorization(error) }
            switch attempt.leg {
            case .carrierChoice:
                guard let network = answer.network else { throw .carrierNotChosen }
                return try await askProvider(attempt, network, loginHintToken: answer.loginHintToken, browser)
            case .authorization(let asked, let nonce, let codeVerifier):
                request = try await self.request(answer, attempt, asked, nonce, codeVerifier)
            }
        } catch {
            return refused(attempt, error)
        }
        do throws(SignInError) {
            // Both write a line of their own.
            if let id = attempt.linkingSession {
                try await link.finish(request, holding: session, ofID: id)
                return .finished(attempt.end(.linked))
            }
            var signingIn = request
            signingIn.device = device
            return .finished(attempt.end(try await result(of: try await signIn(signingIn), attempt)))
        } catch {
            return .finished(attempt.end(.failed(error)))
        }
    }

    /// The sign-in that the browser came back with.
    private func request(
        _ answer: RedirectAnswer, _ attempt: RedirectAttempt, _ asked: MCCMNC?, _ nonce: Secret,
        _ codeVerifier: CodeVerifier
    ) async throws(SignInError) -> SignInRequest {
        let isOfCarriers = relyingParties[attempt.provider]?.isOfCarriers ?? false
        let network = asked ?? (isOfCarriers ? answer.network : nil)
        guard network != nil || !isOfCarriers else { throw .carrierNotNamed }
        try await checkIssuer(answer, network, attempt)
        guard let code = answer.code else { throw .codeMissing }
        try await keepForThisSignIn(code, of: attempt)
        return SignInRequest(attempt, code, network, nonce, codeVerifier)
    }

    /// Ends a sign-in that came to nothing before there was a code to redeem, with a line in the log as any other has.
    private func refused(
        _ attempt: RedirectAttempt, _ error: SignInError, _ times: StepTimes = StepTimes()
    ) -> RedirectStep {
        var network: MCCMNC?
        if case .authorization(let asked, _, _) = attempt.leg { network = asked }
        var log = SignInLog(attempt, at: network, times, logger: signIn.logger, observer: signIn.observer)
        log.write(error)
        return .finished(attempt.end(.failed(error)))
    }

    private func result(
        of outcome: SignInOutcome, _ attempt: RedirectAttempt
    ) async throws(SignInError) -> RedirectEnd.Result {
        switch outcome {
        case .mustRegister(let offer): .mustRegister(offer)
        case .signedIn(let signedIn) where attempt.clientType == .web: .signedIn(signedIn)
        case .signedIn(let signedIn):
            .handedOver(
                sessionID: try await handover.leave(
                    signedIn, of: attempt.clientID, codeChallenge: attempt.codeChallenge))
        }
    }

    /// Where a frontend of a kind ends up that names no redirect URI: for pages the client's first one of http or https,
    /// for apps the first of a scheme of their own; without such a one, the first. Nil if there is none, or no client.
    public func usualRedirectURI(at provider: String, clientID: ClientID?, _ clientType: ClientType) -> String? {
        let clients = configuration.providers[provider]?.clients ?? [:]
        let client = clientID.map { clients[$0] } ?? (clients.count == 1 ? clients.first?.value : nil)
        let uris = client?.redirectURIs ?? []
        return uris.first { (AppRedirectURI.origin(of: $0) != nil) == clientType.isBoundToBrowser } ?? uris.first
    }

    /// The client a start is for; its redirect URI must be registered, or anybody could be sent anywhere.
    private func client(for request: RedirectStart) throws(SignInError) -> SignInConfiguration.Client {
        guard let provider = configuration.providers[request.provider], relyingParties[request.provider] != nil else {
            throw .unknownProvider
        }
        let only = provider.clients.count == 1 ? provider.clients.first?.value : nil
        guard let client = request.clientID.map({ provider.clients[$0] }) ?? only else {
            throw request.clientID == nil ? .clientNotNamed : .unknownClient
        }
        guard AppRedirectURI.isRegistered(request.redirectURI, among: client.redirectURIs) else {
            throw .redirectURINotRegistered
        }
        guard provider.kind != .oauth2 || (request.acrValues.isEmpty && request.context == nil) else {
            throw .nothingConfirms
        }
        guard request.clientType != .popup || AppRedirectURI.origin(of: request.redirectURI) != nil else {
            throw .popupNeedsOrigin
        }
        guard request.clientType != .spa || request.codeChallenge != nil else { throw .codeChallengeMissing }
        return client
    }

    private func scopes(of request: RedirectStart, _ client: SignInConfiguration.Client) -> [String] {
        let scopes = request.scopes.isEmpty ? client.scopes : request.scopes
        guard configuration.providers[request.provider]?.kind != .oauth2 else { return scopes }
        return scopes.contains("openid") ? scopes : ["openid"] + scopes
    }

    private func askForCarrier(_ attempt: RedirectAttempt, _ browser: Secret?) async throws(SignInError) -> RedirectStep
    {
        guard let discoveryUI = configuration.providers[attempt.provider]?.discoveryUI else { throw .networkNotNamed }
        var attempt = attempt
        attempt.leg = .carrierChoice
        let state = Secret(random.token())
        try await notes.keep(attempt.bytes, for: .redirectAttempt, under: state, seconds: Self.lifetime)
        let request = CarrierChoiceRequest(
            clientID: attempt.clientID, redirectURI: attempt.callbackURL, state: state)
        return .goOn(to: request.url(at: discoveryUI).text, browser: browser)
    }

    /// Sends the browser to the carrier that serves a network, or to the provider that none leads to.
    private func askProvider(
        _ attempt: RedirectAttempt, _ network: MCCMNC?, loginHintToken: String?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        guard let relyingParty = relyingParties[attempt.provider] else { throw .unknownProvider }
        let discoveryUI = configuration.providers[attempt.provider]?.discoveryUI
        var times = StepTimes()
        times.begin(.discovery)
        let carrier: ProviderMetadata
        do throws(OIDCError) {
            carrier = try await relyingParty.provider(
                for: network, clientID: attempt.clientID, correlationID: attempt.correlationID)
        } catch {
            return refused(attempt, SignInError(error, discoveryUI: discoveryUI), times)
        }
        return try await ask(
            attempt, network, at: carrier.authorizationEndpoint, isConfirmed: carrier.userEndpoint == nil,
            loginHintToken, browser)
    }

    /// Sends the browser where the user's carrier is found and asked at once; the answer says which it was.
    private func askWhicheverCarrier(
        _ attempt: RedirectAttempt, at url: EndpointURL, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        try await ask(attempt, nil, at: url, isConfirmed: true, nil, browser)
    }

    /// - Parameter isConfirmed: Whether an ID token will confirm the nonce.
    private func ask(
        _ attempt: RedirectAttempt, _ network: MCCMNC?, at endpoint: EndpointURL, isConfirmed: Bool,
        _ loginHintToken: String?, _ browser: Secret?
    ) async throws(SignInError) -> RedirectStep {
        let (state, nonce, codeVerifier) = (
            Secret(random.token()), Secret(random.token()), CodeVerifier.random(from: random)
        )
        var attempt = attempt
        attempt.leg = .authorization(network: network, nonce: nonce, codeVerifier: codeVerifier)
        try await notes.keep(attempt.bytes, for: .redirectAttempt, under: state, seconds: Self.lifetime)
        let isOfCarriers = relyingParties[attempt.provider]?.isOfCarriers ?? false
        var request = AuthorizationRequest(
            clientID: attempt.clientID, redirectURI: attempt.callbackURL, scopes: attempt.scopes, state: state,
            nonce: isConfirmed ? nonce : nil, codeChallenge: codeVerifier.challenge,
            correlationID: isOfCarriers ? attempt.correlationID : nil)
        request.loginHintToken = loginHintToken
        request.loginHint = attempt.loginHint
        request.acrValues = attempt.acrValues
        request.context = attempt.context
        request.prompt = attempt.prompt
        request.responseMode = configuration.providers[attempt.provider]?.responseMode
        return .goOn(to: request.url(at: endpoint).text, browser: browser)
    }

    /// The attempt that an answer belongs to, spent by asking.
    private func attempt(for answer: RedirectAnswer, _ browser: Secret?) async throws(SignInError) -> RedirectAttempt {
        guard let state = answer.state, let bytes = try await notes.take(.redirectAttempt, under: state),
            let attempt = RedirectAttempt(bytes), attempt.provider.hasSameBytes(as: answer.provider)
        else { throw .attemptUnknown }
        if let hash = attempt.browserHash {
            // Somebody else's sign-in brought into this browser would sign its user in as somebody else.
            guard let browser, Self.hash(browser).hasSameBytes(as: hash) else { throw .otherBrowser }
        }
        return attempt
    }

    /// A code that another sign-in brought before goes nowhere: whoever it was sent to by a mix-up must not bring it back in
    /// a sign-in of their own, whose verifier and nonce may fit (RFC 9700 section 4.4).
    private func keepForThisSignIn(_ code: Secret, of attempt: RedirectAttempt) async throws(SignInError) {
        let hash = try TokenHash(sha256Of: "code of \(attempt.provider)\n\(code.exposed)")
        guard try await notes.begin(hash, for: .answeredCode, seconds: Self.lifetime) else {
            throw .codeOfAnotherSignIn
        }
    }

    /// An answer that names its issuer or its carrier must name the one that was asked, and one of a provider that says that
    /// it always names its issuer must (RFC 9207 section 2.4).
    private func checkIssuer(
        _ answer: RedirectAnswer, _ network: MCCMNC?, _ attempt: RedirectAttempt
    ) async throws(SignInError) {
        guard let relyingParty = relyingParties[attempt.provider] else { throw .unknownProvider }
        let carrier: ProviderMetadata
        do throws(OIDCError) {
            carrier = try await relyingParty.provider(
                for: network, clientID: attempt.clientID, correlationID: attempt.correlationID)
        } catch {
            throw SignInError(error)
        }
        try await checkNetwork(answer, network, carrier, relyingParty, attempt)
        guard let issuer = answer.issuer else {
            guard carrier.namesIssuerInResponses else { return }
            throw .issuerNotNamed
        }
        guard carrier.issuer.hasSameBytes(as: issuer) else { throw .issuerMixedUp }
    }

    /// A carrier may have several networks: another one than was asked for is good if it is the same issuer's.
    private func checkNetwork(
        _ answer: RedirectAnswer, _ asked: MCCMNC?, _ carrier: ProviderMetadata, _ relyingParty: RelyingParty,
        _ attempt: RedirectAttempt
    ) async throws(SignInError) {
        guard let asked, let named = answer.network, named != asked else { return }
        let other: ProviderMetadata
        do throws(OIDCError) {
            other = try await relyingParty.provider(
                for: named, clientID: attempt.clientID, correlationID: attempt.correlationID)
        } catch {
            throw .issuerMixedUp
        }
        guard other.issuer.hasSameBytes(as: carrier.issuer) else { throw .issuerMixedUp }
    }

    private static func hash(_ browser: Secret) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(browser.exposed.utf8))))
    }
}

extension SignInRequest {
    /// The sign-in that a browser came back with.
    fileprivate init(
        _ attempt: RedirectAttempt, _ code: Secret, _ network: MCCMNC?, _ nonce: Secret, _ codeVerifier: CodeVerifier
    ) {
        self.init(
            provider: attempt.provider, clientID: attempt.clientID, code: code, network: network,
            redirectURI: attempt.callbackURL)
        self.codeVerifier = codeVerifier
        self.nonce = nonce
        acrValues = attempt.acrValues
        context = attempt.context
        scopes = attempt.scopes
        correlationID = attempt.correlationID
        wasStartedHere = true
        registrationChallenge = attempt.codeChallenge
    }
}
