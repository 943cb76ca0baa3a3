import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

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
            let (found, state, isAgain) = try await lookUp(response, browser)
            var pending = found
            known = (pending, response)
            try check(browser, startedIt: pending)
            if !isAgain {
                // Not before: another browser, or a program that looks at the address, uses nothing up.
                guard try await oneTimeStore.take(.pendingRedirect, under: state) != nil else { throw .redirectUnknown }
                pendingStarts.end(TokenHash(sha256Of: state.exposed))
            }
            pending.subnet = subnet
            return try await proceed(pending, with: response, browser, session, device, isAgain)
        } failed: { _ in
            // No frontend is told, so that the page has the id of the request alone.
            let id = requestID ?? environment.random.token(bytes: 16)
            if let known { return failedOperation(of: known.pending, known.response, namedBy: id) }
            return failedOperation(of: received, at: received.provider, browser, failedCheck, id)
        }
    }

    /// Continues with the response to a sign-in of this browser.
    /// - Parameter isAgain: Whether the browser brought its code before.
    private func proceed(
        _ pending: PendingRedirect, with response: AuthorizationResponse, _ browser: Secret?, _ session: Secret?,
        _ device: String?, _ isAgain: Bool
    ) async throws(SignInError) -> RedirectStep {
        let request: SignInRequest
        do throws(SignInError) {
            let target = try environment.providers.find(pending.start.provider)
            let (code, network) = try await target.accept(response, for: pending)
            guard let code else {
                return try await sendToProvider(
                    pending, target, at: network, loginHintToken: response.loginHintToken, browser)
            }
            guard case .authorization(_, let nonce, let codeVerifier) = pending.leg else { throw .internalFault }
            let (start, rules) = (pending.start, target.server.rules)
            request = SignInRequest(
                provider: start.provider, clientID: pending.clientID, code: code, network: network,
                redirectURI: start.callbackURL, codeVerifier: rules.pkce == .off ? nil : codeVerifier,
                dpopKey: pending.dpopKey, nonce: rules.nonce == .off ? nil : nonce, demand: start.demand,
                state: response.state?.exposed, correlationID: pending.correlationID, isRedirectFlow: true,
                isBroughtAgain: isAgain, device: device, unconfirmed: response.user,
                registrationChallenge: start.codeChallenge ?? "")
            if !isAgain { try await keepForThisSignIn(code, of: pending, response.state, browser) }
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
            if isAgain, error.code == .refusedByProvider { throw .redirectUnknown }
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

    /// The sign-in that a response belongs to, its `state`, and whether this browser brought its code before. A task
    /// of a group, and a code that a group redeems, are for once.
    private func lookUp(
        _ response: AuthorizationResponse, _ browser: Secret?
    ) async throws(SignInError) -> (PendingRedirect, state: Secret, isAgain: Bool) {
        guard let state = response.state else { throw .redirectUnknown }
        var bytes = try await oneTimeStore.read(.pendingRedirect, under: state)
        let isAgain = bytes == nil
        if isAgain, let code = response.code, let browser, environment.providers[response.provider]?.group == nil {
            let proof = proof(state, browser)
            let kept = try await oneTimeStore.read(.answeredCode, under: answeredCode(code, at: response.provider))
            if let kept, kept.starts(with: proof) { bytes = Array(kept.dropFirst(proof.count)) }
        }
        guard let bytes, let pending = PendingRedirect(bytes),
            pending.start.provider.provider.hasSameBytes(as: response.provider)
        else { throw .redirectUnknown }
        return (pending, state, isAgain)
    }

    private func answeredCode(_ code: Secret, at provider: String) -> Secret {
        Secret("code of \(provider)\n\(code.exposed)")
    }

    /// Of who brings a code again.
    private func proof(_ state: Secret, _ browser: Secret) -> [UInt8] {
        TokenHash(sha256Of: "\(state.exposed)\n\(browser.exposed)").bytes
    }

    /// Another user's response in this browser would sign its user in as the other one.
    private func check(_ browser: Secret?, startedIt pending: PendingRedirect) throws(SignInError) {
        guard let hash = pending.browserHash else { return }
        guard let browser, Self.hash(browser).hasSameBytes(as: hash) else { throw .otherBrowser }
    }

    /// Refuses a code that another sign-in brought before. An attacker who received it in a mix-up must not use it in a
    /// sign-in of their own, whose verifier and nonce may fit (RFC 9700 section 4.4). All operators of a provider share
    /// one redirect URI, so that a code may come back for another operator than the one that issued it.
    ///
    /// The browser that brought it may bring it again: then the sign-in is kept with the code.
    private func keepForThisSignIn(
        _ code: Secret, of pending: PendingRedirect, _ state: Secret?, _ browser: Secret?
    ) async throws(SignInError) {
        let handle = answeredCode(code, at: pending.start.provider.provider)
        let hash = TokenHash(sha256Of: handle.exposed)
        var content: [UInt8] = []
        // The key is for the token request alone.
        let kept = altered(pending) { $0.dpopKey = nil }
        if let state, let browser { content = proof(state, browser) + kept.bytes }
        let bytes = OneTimeRecord.overhead + EncryptedOneTimeStore.length(of: content)
        // Beyond the limit, the oldest code of the subnet with the most is forgotten. It was redeemed long ago.
        guard let place = feature.answeredCodes.admit(hash, of: pending.subnet, bytes: bytes) else {
            throw .tooManyStarts
        }
        let isFirst: Bool
        do throws(SignInError) {
            isFirst = try await oneTimeStore.keep(
                content, for: .answeredCode, under: handle, seconds: lifetime, insteadOf: place.evicted)
        } catch {
            feature.answeredCodes.end(hash)
            throw error
        }
        guard isFirst else {
            // The record is another instance's. If it counted here, a flood from this subnet could remove it.
            if place.isNew { feature.answeredCodes.end(hash) }
            throw .codeOfAnotherSignIn
        }
    }
}

/// What failed sign-ins by redirects were about, until there is a code to redeem.
extension RedirectSignIn {
    /// A sign-in under way.
    /// - Parameters:
    ///   - response: What the browser brought back; nil before.
    ///   - requestID: Names a failure whose response has no correlation id.
    func failedOperation(
        of pending: PendingRedirect, _ response: AuthorizationResponse? = nil, _ times: StepTimes = StepTimes(),
        namedBy requestID: String? = nil
    ) -> FailedOperation {
        let start = pending.start
        let target = environment.providers[start.provider]
        let prompt = start.demand.prompt.map(\.rawValue)
        var members: [FailedOperation.Member] = [
            ("client_type", .name(start.clientType.rawValue)), ("redirect_uri", .text(start.redirectURI)),
            ("started_here", .flag(true)),
        ]
        members += start.demand.failureMembers
        members += [
            ("prompt", prompt.isEmpty ? nil : .name(prompt.joined(separator: " "))),
            ("max_age", start.demand.maximumAge.map { .number($0) }),
            ("login_hint", start.demand.loginHint.map { .secret(Secret($0)) }),
        ]
        var network = start.network
        switch pending.leg {
        case .carrierChoice: members.append(("sent_to", .name("carrier_choice")))
        case .authorization(let asked, let nonce, _):
            network = asked
            members += [("sent_to", .name("authorization")), ("nonce", .secret(nonce))]
        }
        if requestID != nil { members.append(("correlation_id", .name(pending.correlationID.text))) }
        // A response from another browser is not reported to the frontend. It is named by the request's id.
        if response != nil { members.append(("browser_matches", .flag(requestID == nil))) }
        members.append(("authorization_response", response.map { .members($0.failureMembers) }))
        let flow: FailedOperation.Flow =
            switch start.purpose {
            case .signIn: .redirect
            case .errand: errand?.flow ?? .redirect
            case .task: environment.providers.group(of: start.provider)?.taskFlow ?? .redirect
            }
        // What begins the others has a session.
        return FailedOperation(
            flow: flow, correlationID: requestID ?? pending.correlationID.text, provider: start.provider.text,
            client: target?.server.client(pending.clientID), relyingParty: target?.relyingParty, network: network,
            times: times, requested: members,
            origin: flow == .redirect ? .keyless : .known)
    }

    /// A response that belongs to no sign-in that is known. Anyone can bring one.
    /// - Parameters:
    ///   - received: Nil if its parameters cannot be read.
    ///   - requestID: Stands for the correlation id, which is not known either.
    func failedOperation(
        of received: AuthorizationResponse?, at provider: String, _ browser: Secret?,
        _ check: AuthorizationResponseCheck?, _ requestID: String
    ) -> FailedOperation {
        FailedOperation(
            ofUnknownCaller: .redirect, requestID: requestID, at: provider, environment.providers[provider]?.server,
            requested: [("has_browser_cookie", .flag(browser != nil))], check: check?.rawValue,
            costly: { [("authorization_response", .members(members(of: received, check)))] })
    }

    /// What an unverified response says, and the result of each check of a signed one, whose signature this verifies
    /// again.
    private func members(
        of received: AuthorizationResponse?, _ check: AuthorizationResponseCheck?
    ) -> [FailedOperation.Member] {
        guard let received else { return [("is_readable", .flag(false))] }
        guard let text = received.signed else { return received.failureMembers }
        let server = environment.providers[received.provider]?.server
        let clients = server?.clients.mapValues(\.responseSigningAlgorithm)
        return [
            ("response", .secret(text)),
            (
                "token",
                .token(
                    text, maximumBytes: server?.relyingParty.idTokenRules.maximumBytes ?? 0,
                    server?.relyingParty.explainOffline(authorizationResponse: text, for: clients ?? [:]),
                    failed: check)
            ),
        ]
    }

    /// Tells the observer of failures of a response whose parameters cannot be read.
    /// - Parameters:
    ///   - problem: What is wrong with them: a sentence without any text of theirs.
    ///   - requestID: As for ``finish(_:browser:session:device:subnet:requestID:)``.
    func noteUnreadableResponse(
        at provider: String, browser: Secret?, problem: String, requestID: String
    ) async {
        _ = try? await environment.failures.recording { () async throws(SignInError) -> Void in
            throw .invalidRequest(problem)
        } failed: { _ in
            failedOperation(of: nil, at: provider, browser, nil, requestID)
        }
    }
}

extension AuthorizationResponse {
    fileprivate var failureMembers: [FailedOperation.Member] {
        [
            ("state", state.map { .secret($0) }), ("code", code.map { .secret($0) }),
            ("error", error.map { .code($0) }),
            ("iss", issuer.map { .text($0) }), ("mccmnc", network.map { .text($0.text) }),
            ("has_login_hint_token", .flag(loginHintToken != nil)), ("signed_for", clientID.map { .text($0.text) }),
            ("is_readable", .flag(true)),
        ]
    }
}
