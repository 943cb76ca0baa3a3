package import OpenIDConnect
package import Primitives
package import StorageModel

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
        return try await capsules.recording(as: correlationID, question.sentNames) { () async throws(SignInError) in
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
            throw .redirectURINotRegistered(redirectURI, among: inquiry.client.redirectURIs)
        }
        let id = Secret(random.token())
        let pending = pendingVerification(id, inquiry, redirectURI, publicURL, subnet, correlationID)
        // First, so that a browser that is sent away finds it when it comes back.
        let subject = inquiry.verification(
            id.exposed, of: holder, expiresAt: clock.now().advanced(bySeconds: Self.lifetime))
        guard try await stored(await verifyPhoneNumber.store.beginPhoneVerification(subject)) else {
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
            // A response that is itself the failure has a capsule.
            if case .success = request { await capsules.keep(capsuleSubject(of: pending), error) }
            return refused(pending, error)
        }
    }
}
