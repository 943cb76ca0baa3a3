import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Verifications by redirects: a browser on the user's device is sent to the operator, and comes back.
///
/// Anybody can be made to open the address that a session got. Their operator then confirms their number, without a
/// page. So what a browser brings back changes no account. It is kept, and the app on the browser's device gets a
/// confirmation, which only the session that asked can redeem.
extension VerifyPhoneNumber {
    /// How long an app has to present its confirmation, in seconds.
    static let confirmationLifetime: Int64 = 120

    /// Ends a verification with what the browser brought back, if the session shows that it was its own browser.
    /// - Throws: `not_found` for an id that the session does not have; `invalid_grant` for a wrong confirmation, the
    ///   third of which ends the verification, and for a verification that has ended; `temporarily_unavailable`.
    package func confirm(
        _ id: String, with confirmation: Secret, correlationID: CorrelationID?, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = correlationID ?? .random(from: random)
        return try await failures.recording(as: correlationID) { () async throws(SignInError) in
            // Also if the store fails, because the change may have been stored before the failure.
            defer { cache.remove(holder.user.id) }
            let result = try await mappingStoreErrors(
                await store.confirmPhoneVerification(
                    TokenHash(sha256Of: id), in: holder.session.id, with: TokenHash(sha256Of: confirmation.exposed),
                    orFailWith: SignInError.Code.invalidGrant.rawValue, at: clock.now(),
                    requestID: correlationID.text))
            switch result {
            case .confirmed(let verification, let formerHolders):
                for formerHolder in formerHolders { cache.remove(formerHolder) }
                observer(PhoneVerificationReport(operatorName: verification.operatorName, outcome: .confirmed))
                write("confirmed", Findings(correlationID: correlationID))
                return Outcome(id: id, state: .ended(verification), correlationID: correlationID)
            case .wrong: throw .confirmationWrong
            case .ended: throw .verificationEnded
            case .unknown: throw .noSuchVerification
            }
        } failed: { error in
            log(error, Findings(correlationID: correlationID))
            return nil
        }
    }

    /// Keeps what a browser brought back: the operator's answer, or why there is none.
    /// - Parameter request: With the code, or what is wrong with the authorization response.
    /// - Returns: The confirmation, for the app on the browser's device.
    /// - Throws: `not_found` if the verification has ended, or its session; then the operator is not asked.
    func keepFinding(
        of id: Secret, _ request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID
    ) async throws(SignInError) -> Secret {
        let hash = TokenHash(sha256Of: id.exposed)
        guard let subject = try await mappingStoreErrors(await store.pendingPhoneVerification(hash, at: clock.now()))
        else {
            throw .noSuchVerification
        }
        var findings = Findings(correlationID: correlationID, operatorName: subject.operatorName)
        let (outcome, issuer) = await finding(of: subject, request, &findings)
        let confirmation = Secret(random.token())
        let now = clock.now()
        let isKept = try await mappingStoreErrors(
            await store.addPhoneVerificationFinding(
                PhoneVerificationFinding(
                    outcome: outcome, issuer: issuer, confirmation: TokenHash(sha256Of: confirmation.exposed),
                    expiresAt: now.advanced(bySeconds: Self.confirmationLifetime)), at: now))
        guard isKept else { throw .noSuchVerification }
        log(outcome, findings)
        return confirmation
    }

    /// What the operator says, with its issuer. The state and the code are spent, so that any failure is final.
    private func finding(
        of subject: PendingPhoneVerification, _ request: Result<SignInRequest, SignInError>,
        _ findings: inout Findings
    ) async -> (PhoneVerification, issuer: String) {
        do throws(SignInError) {
            let run = try begin(try request.get(), findings.correlationID)
            findings.run = run
            findings.number = subject.phoneNumber
            let provider = try await run.discoverProvider()
            try await count(subject)
            return (try await outcome(of: subject, run, at: provider, findings), provider.issuer)
        } catch {
            if error.code != .rateLimited { await failures.note(FailedOperation(findings), error) }
            if error.fault != .client { write(error.codeText, findings, error) }
            return (subject.failed(error.codeText, at: clock.now()), "")
        }
    }
}

/// Verifications of a signed-in user's phone number: the way of the browser.
extension RedirectSignIn {
    /// A verification that has begun.
    package struct StartedVerification: Sendable {
        package let id: String
        /// Where the app sends a browser on the device, over the mobile network.
        package let authorizationURL: String
        /// In seconds.
        package let expiresIn: Int64
        package let correlationID: CorrelationID
    }

    /// Begins to verify a number by redirects. Any browser may come back: that of the user's device has no cookies of
    /// this server.
    /// - Parameters:
    ///   - redirectURI: One of the client's registered ones, where the app gets the confirmation.
    ///   - publicURL: This server's own.
    ///   - subnet: As ``CallerTerms/subnet``.
    /// - Throws: As ``VerifyPhoneNumber``; `invalid_request` for a redirect URI that is not registered.
    package func startVerification(
        _ question: VerifyPhoneNumber.Question, redirectURI: String, publicURL: String, subnet: IPAddress?,
        for holder: SessionAndUser
    ) async throws(SignInError) -> StartedVerification {
        let correlationID = question.correlationID ?? .random(from: random)
        return try await failures.recording(as: correlationID, question.sentNames) { () async throws(SignInError) in
            try await beginVerification(question, redirectURI, publicURL, subnet, holder, correlationID)
        } failed: { error in
            logStart(error, at: question.provider, correlationID)
            return nil
        }
    }

    private func beginVerification(
        _ question: VerifyPhoneNumber.Question, _ redirectURI: String, _ publicURL: String, _ subnet: IPAddress?,
        _ holder: SessionAndUser, _ correlationID: CorrelationID
    ) async throws(SignInError) -> StartedVerification {
        let inquiry = try await verifyPhoneNumber.inquiry(question, of: holder.user, correlationID)
        guard inquiry.client.mayReceiveBrowsers(at: redirectURI) else {
            throw .redirectURINotRegistered(redirectURI, among: inquiry.client.rules.redirectURIs)
        }
        let id = Secret(random.token())
        let pending = pendingVerification(id, inquiry, redirectURI, publicURL, subnet, correlationID)
        // First, so that a browser that is sent away finds it when it comes back.
        let subject = inquiry.verification(
            id.exposed, of: holder, expiresAt: clock.now().advanced(bySeconds: Self.lifetime))
        guard try await mappingStoreErrors(await verifyPhoneNumber.store.beginPhoneVerification(subject)) else {
            throw .sessionUnknown
        }
        switch try await sendToProvider(pending, inquiry.target, at: nil, loginHintToken: nil, nil) {
        case .goOn(let url, let seconds, _):
            return StartedVerification(
                id: id.exposed, authorizationURL: url, expiresIn: seconds, correlationID: correlationID)
        case .finished(let end):
            guard case .failed(let error) = end.result else { throw .internalFault }
            throw error
        }
    }

    private func pendingVerification(
        _ id: Secret, _ inquiry: VerifyPhoneNumber.Inquiry, _ redirectURI: String, _ publicURL: String,
        _ subnet: IPAddress?, _ correlationID: CorrelationID
    ) -> PendingRedirect {
        let callback = "\(publicURL)/auth/\(inquiry.target.provider.name)/callback"
        var start = RedirectStart(
            provider: inquiry.target.reference, clientType: .ios, redirectURI: redirectURI, callbackURL: callback)
        start.demand.scopes = inquiry.mobileOperator.scopes(toVerify: inquiry.number)
        start.demand.prompt = [.noInteraction]
        start.verification = id
        var pending = PendingRedirect(
            start: start, clientID: inquiry.client.id, correlationID: correlationID, browserHash: nil)
        pending.subnet = subnet
        return pending
    }

    /// Sends the browser of a verification to the app, with the confirmation.
    func finishVerification(
        _ id: Secret, _ pending: PendingRedirect, _ request: Result<SignInRequest, SignInError>
    ) async -> RedirectStep {
        do throws(SignInError) {
            let confirmation = try await verifyPhoneNumber.keepFinding(of: id, request, pending.correlationID)
            return .finished(pending.end(.broughtNumber(confirmation: confirmation)))
        } catch {
            // The observer knows of a response that is itself the failure.
            if case .success = request { await failures.note(failedOperation(of: pending), error) }
            return refused(pending, error)
        }
    }
}
