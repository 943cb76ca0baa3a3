import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// How a sign-in by redirects continues when the browser is back.
extension RedirectSignIn {
    /// Continues with what the browser brought back.
    /// - Parameters:
    ///   - session: The token of the browser's session, if it has one.
    ///   - device: A name for the browser's device; for the list of sessions.
    ///   - subnet: As ``CallerTerms/subnet``.
    ///   - requestID: Names the failure of a response that belongs to no sign-in; a random one if nil.
    /// - Throws: If no frontend can be told: the response is not signed as it must be; or the `state` is unknown, was
    ///   used, has expired, or belongs to another browser.
    func finish(
        _ received: AuthorizationResponse, browser: Secret?, session: Secret? = nil, device: String? = nil,
        subnet: IPAddress? = nil, requestID: String? = nil
    ) async throws(SignInError) -> RedirectStep {
        var failedCheck: AuthorizationResponseCheck?
        var known: (pending: PendingRedirect, response: AuthorizationResponse)?
        return try await environment.failures.recording { () async throws(SignInError) in
            let response = try await opened(received, &failedCheck)
            var pending = try await takePending(for: response)
            known = (pending, response)
            try check(browser, startedIt: pending)
            pending.subnet = subnet
            return await proceed(pending, with: response, browser, session, device)
        } failed: { _ in
            // No frontend is told, so that the page has the id of the request alone.
            let id = requestID ?? environment.random.token(bytes: 16)
            if let known { return failedOperation(of: known.pending, known.response, namedBy: id) }
            return failedOperation(of: received, browser, check: failedCheck, id)
        }
    }

    /// Continues with the response to a sign-in of this browser.
    private func proceed(
        _ pending: PendingRedirect, with response: AuthorizationResponse, _ browser: Secret?, _ session: Secret?,
        _ device: String?
    ) async -> RedirectStep {
        let request: SignInRequest
        do throws(SignInError) {
            let target = try environment.providers.find(pending.start.provider)
            let (code, network) = try await target.accept(response, for: pending)
            guard let code else {
                return try await sendToProvider(
                    pending, target, at: network, loginHintToken: response.loginHintToken, browser)
            }
            guard case .authorization(_, let nonce, let codeVerifier) = pending.leg else { throw .internalFault }
            let start = pending.start
            request = SignInRequest(
                provider: start.provider, clientID: pending.clientID, code: code, network: network,
                redirectURI: start.callbackURL, codeVerifier: codeVerifier, dpopKey: pending.dpopKey, nonce: nonce,
                demand: start.demand, correlationID: pending.correlationID, isRedirectFlow: true, device: device,
                registrationChallenge: start.codeChallenge)
            try await keepForThisSignIn(code, of: pending)
        } catch {
            await environment.failures.note(failedOperation(of: pending, response), error)
            guard case .task(let id) = pending.start.purpose else { return refused(pending, error) }
            return await finish(task: id, pending, .failure(error.at(origin(of: pending))))
        }
        do throws(SignInError) {
            switch pending.start.purpose {
            case .task(let id): return await finish(task: id, pending, .success(request))
            case .errand(let id):
                guard let errand else { throw .internalFault }
                try await errand.finish(request, session, id)
                return .finished(end(of: pending, .errandDone(errand.success)))
            case .signIn: return .finished(end(of: pending, try await signIn(request, pending)))
            }
        } catch {
            return .finished(end(of: pending, .failed(error)))
        }
    }

    private func end(of pending: PendingRedirect, _ result: RedirectEnd.Result) -> RedirectEnd {
        let purpose: [(name: String, value: String)]
        switch pending.start.purpose {
        case .signIn: purpose = [("action", "login")]
        case .errand: purpose = [("action", errand?.kind.event ?? "")]
        case .task(let id):
            purpose = environment.providers.group(of: pending.start.provider)?.parameters(ofTask: id) ?? []
        }
        return pending.end(result, purpose)
    }

    /// Sends the browser of a task to the frontend, with what the group says.
    private func finish(
        task id: Secret, _ pending: PendingRedirect, _ request: Result<SignInRequest, SignInError>
    ) async -> RedirectStep {
        do throws(SignInError) {
            guard let group = environment.providers.group(of: pending.start.provider) else {
                throw .unknownProvider(in: environment.providers)
            }
            return .finished(
                end(
                    of: pending,
                    .taskEnded(
                        try await group.finish(task: id, with: request, pending.correlationID, in: environment))))
        } catch {
            // The observer knows of a response that is itself the failure.
            if case .success = request { await environment.failures.note(failedOperation(of: pending), error) }
            return refused(pending, error)
        }
    }

    private func signIn(
        _ request: SignInRequest, _ pending: PendingRedirect
    ) async throws(SignInError) -> RedirectEnd.Result {
        switch try await useCases.signIn(request) {
        case .mustRegister(let offer): return .mustRegister(offer)
        case .signedIn(let signedIn) where pending.start.clientType == .web: return .signedIn(signedIn)
        case .signedIn(let signedIn):
            return .handedOver(
                sessionID: try await leaveSession(
                    signedIn, of: pending.clientID, codeChallenge: pending.start.codeChallenge,
                    isSession: pending.start.sessionIDIsSession))
        }
    }

    /// Ends a sign-in that failed before the browser was sent to the provider. The observer of failures is told.
    func failed(_ pending: PendingRedirect, _ error: SignInError, _ times: StepTimes) async -> RedirectStep {
        await environment.failures.note(failedOperation(of: pending, nil, times), error)
        return refused(pending, error, times)
    }

    /// Ends a sign-in that failed before there was a code to redeem, and writes its log line.
    func refused(_ pending: PendingRedirect, _ error: SignInError, _ times: StepTimes = StepTimes()) -> RedirectStep {
        if case .task = pending.start.purpose {
            let group = environment.providers.group(of: pending.start.provider)
            group?.log(error, ofTask: pending.correlationID, in: environment)
        } else {
            var network: MCCMNC?
            if case .authorization(let asked, _, _) = pending.leg { network = asked }
            var kind = SignInReport.Kind.signIn
            if let errand, case .errand = pending.start.purpose { kind = errand.kind }
            var log = SignInLog(
                kind, at: pending.start.provider, for: pending.clientID, network, pending.correlationID, times,
                in: environment)
            log.write(error.at(origin(of: pending)))
        }
        return .finished(end(of: pending, .failed(error)))
    }

    /// Where the browser was sent, as far as that is known without a request.
    private func origin(of pending: PendingRedirect) -> EndpointURL? {
        let target = environment.providers[pending.start.provider]
        let carriers = target?.provider.carriers
        guard case .authorization(let network, _, _) = pending.leg else { return carriers?.discoveryUI }
        return target?.relyingParty.knownProvider(for: network)?.authorizationEndpoint ?? carriers?.authorizationURL
    }

    // What ties an authorization response to the request it is for.

    /// The sign-in that a response belongs to. Its `state` is spent by this.
    private func takePending(
        for response: AuthorizationResponse
    ) async throws(SignInError) -> PendingRedirect {
        guard let state = response.state, let bytes = try await oneTimeStore.take(.pendingRedirect, under: state),
            let pending = PendingRedirect(bytes),
            pending.start.provider.provider.hasSameBytes(as: response.provider)
        else { throw .redirectUnknown }
        pendingStarts.end(TokenHash(sha256Of: state.exposed))
        return pending
    }

    /// Another user's response in this browser would sign its user in as the other one.
    private func check(_ browser: Secret?, startedIt pending: PendingRedirect) throws(SignInError) {
        guard let hash = pending.browserHash else { return }
        guard let browser, Self.hash(browser).hasSameBytes(as: hash) else { throw .otherBrowser }
    }

    /// Refuses a code that another sign-in brought before. An attacker who received it in a mix-up must not use it in a
    /// sign-in of their own, whose verifier and nonce may fit (RFC 9700 section 4.4). All operators of a provider share
    /// one redirect URI, so that a code may come back for another operator than the one that issued it.
    private func keepForThisSignIn(_ code: Secret, of pending: PendingRedirect) async throws(SignInError) {
        let hash = TokenHash(sha256Of: "code of \(pending.start.provider.provider)\n\(code.exposed)")
        // Beyond the limit, the oldest code of the subnet with the most is forgotten. It was redeemed long ago.
        guard let evicted = answeredCodes.admit(hash, of: pending.subnet, bytes: OneTimeRecord.overhead) else {
            throw .tooManyStarts
        }
        let isFirst: Bool
        do throws(SignInError) {
            isFirst = try await oneTimeStore.add(
                oneTimeStore.record(hash, for: .answeredCode, seconds: RedirectStart.lifetime), insteadOf: evicted)
        } catch {
            answeredCodes.end(hash)
            throw error
        }
        guard isFirst else { throw .codeOfAnotherSignIn }
    }
}
