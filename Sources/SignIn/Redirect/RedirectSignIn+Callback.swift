import OpenIDConnect
public import Primitives

/// How a sign-in by redirects goes on when the browser is back.
extension RedirectSignIn {
    /// Goes on with what the browser brought back.
    /// - Parameters:
    ///   - session: The token of the session that the browser has, if it has one.
    ///   - device: What the user would call the device that the browser runs on.
    /// - Throws: Where no frontend can be told: the `state` is unknown, was used, has expired, or is another browser's.
    public func finish(
        _ answer: AuthorizationResponse, browser: Secret?, session: Secret? = nil, device: String? = nil
    ) async throws(SignInError) -> RedirectStep {
        let pending = try await takePending(for: answer, browser)
        let request: SignInRequest
        do throws(SignInError) {
            if let error = answer.error { throw .refusedAtAuthorization(error) }
            switch pending.leg {
            case .carrierChoice:
                guard let network = answer.network else { throw .carrierNotChosen }
                return try await askProvider(pending, network, loginHintToken: answer.loginHintToken, browser)
            case .authorization(let asked, let nonce, let codeVerifier):
                request = try await self.request(answer, pending, asked, nonce, codeVerifier, on: device)
            }
        } catch {
            return refused(pending, error)
        }
        do throws(SignInError) {
            return .finished(pending.end(try await result(of: request, pending, session)))
        } catch {
            return .finished(pending.end(.failed(error)))
        }
    }

    /// The sign-in that the browser came back with.
    private func request(
        _ answer: AuthorizationResponse, _ pending: PendingRedirect, _ asked: MCCMNC?, _ nonce: Secret,
        _ codeVerifier: CodeVerifier, on device: String?
    ) async throws(SignInError) -> SignInRequest {
        let isOfCarriers = relyingParties[pending.provider]?.isOfCarriers ?? false
        let network = asked ?? (isOfCarriers ? answer.network : nil)
        guard network != nil || !isOfCarriers else { throw .carrierNotNamed }
        try await checkIssuer(answer, network, pending)
        guard let code = answer.code else { throw .codeMissing }
        try await keepForThisSignIn(code, of: pending)
        var request = SignInRequest(
            provider: pending.provider, clientID: pending.clientID, code: code, network: network,
            redirectURI: pending.callbackURL)
        request.codeVerifier = codeVerifier
        request.nonce = nonce
        request.acrValues = pending.acrValues
        request.context = pending.context
        request.scopes = pending.scopes
        request.correlationID = pending.correlationID
        request.wasStartedHere = true
        request.registrationChallenge = pending.codeChallenge
        request.device = device
        return request
    }

    /// Signs in, or links, which both write a line of their own in the log.
    private func result(
        of request: SignInRequest, _ pending: PendingRedirect, _ session: Secret?
    ) async throws(SignInError) -> RedirectEnd.Result {
        if let id = pending.linkingSession {
            try await link.finish(request, holding: session, ofID: id)
            return .linked
        }
        switch try await signIn(request) {
        case .mustRegister(let offer): return .mustRegister(offer)
        case .signedIn(let signedIn) where pending.clientType == .web: return .signedIn(signedIn)
        case .signedIn(let signedIn):
            return .handedOver(
                sessionID: try await handover.leave(
                    signedIn, of: pending.clientID, codeChallenge: pending.codeChallenge))
        }
    }

    /// Ends a sign-in that came to nothing before there was a code to redeem, with a line in the log as any other has.
    func refused(
        _ pending: PendingRedirect, _ error: SignInError, _ times: StepTimes = StepTimes()
    ) -> RedirectStep {
        var network: MCCMNC?
        if case .authorization(let asked, _, _) = pending.leg { network = asked }
        var log = SignInLog(pending, at: network, times, logger: signIn.logger, observer: signIn.observer)
        log.write(error)
        return .finished(pending.end(.failed(error)))
    }
}
