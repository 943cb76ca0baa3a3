import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// Verifications by redirects: a browser on the user's device is sent to the operator, and comes back.
///
/// Anybody can be made to open the address that a session got. Their operator then confirms their number, without a
/// page. So what a browser brings back changes no account. It is kept, and the app on the browser's device gets a
/// confirmation, which only the session that asked can redeem.
extension VerifyPhoneNumber {
    /// Ends a verification with what the browser brought back, if the session shows that it was its own browser.
    /// - Throws: `not_found` for an id that the session does not have; `invalid_grant` for a wrong confirmation, the
    ///   third of which ends the verification, and for a verification that has ended; `temporarily_unavailable`.
    func confirm(
        _ id: String, with confirmation: Secret, correlationID: CorrelationID?, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = correlationID ?? .random(from: environment.random)
        return try await environment.failures.recording(as: correlationID) { () async throws(SignInError) in
            // Also if the store fails, because the change may have been stored before the failure.
            defer { sessions.cache.remove(holder.user.id) }
            let (verification, formerHolders) = try await mappingStoreErrors(
                await store.confirmPhoneVerification(
                    TokenHash(sha256Of: id), in: holder.session.id, with: TokenHash(sha256Of: confirmation.exposed),
                    at: environment.clock.now(), requestID: correlationID.text)
            ).get()
            for formerHolder in formerHolders { sessions.cache.remove(formerHolder) }
            outcomes.noteConfirmed(verification, correlationID, in: environment.logger)
            return Outcome(id: id, state: .ended(verification), correlationID: correlationID)
        } failed: { error in
            outcomes.note(error, PhoneVerificationFindings(correlationID: correlationID), in: environment.logger)
            return nil
        }
    }

    /// Begins to verify a number by redirects. Any browser may come back: that of the user's device has no cookies of
    /// this server.
    /// - Parameters:
    ///   - redirectURI: One of the client's registered ones, where the app gets the confirmation.
    ///   - publicURL: This server's own.
    /// - Returns: The id of the verification, and where the app sends a browser on the device, over the mobile network,
    ///   within so many seconds.
    /// - Throws: As ``VerifyPhoneNumber``; `invalid_request` for a redirect URI that is not registered.
    func startVerification(
        _ question: VerifyPhoneNumber.Question, redirectURI: String, publicURL: String, for holder: SessionAndUser
    ) async throws(SignInError) -> (id: String, url: String, withinSeconds: Int64, CorrelationID) {
        let correlationID = question.correlationID ?? .random(from: environment.random)
        return try await environment.failures.recording(as: correlationID, question.sentNames) {
            () async throws(SignInError) in
            guard let redirects = api.redirects else { throw .numbersNotByRedirects }
            let inquiry = try await inquiry(question, of: holder.user, correlationID)
            guard inquiry.client.mayReceiveBrowsers(at: redirectURI) else {
                throw .redirectURINotRegistered(redirectURI, among: inquiry.client.rules.redirectURIs)
            }
            let id = Secret(environment.random.token())
            var start = RedirectStart(
                provider: inquiry.target.reference, clientType: .ios, redirectURI: redirectURI,
                callbackURL: "\(publicURL)/auth/\(inquiry.target.provider.name)/callback")
            start.demand.scopes = inquiry.mobileOperator.scopes(toVerify: inquiry.number)
            start.demand.prompt = [.noInteraction]
            start.caller = question.choice.caller
            // First, so that a browser that is sent away finds it when it comes back.
            let subject = inquiry.verification(
                id.exposed, of: holder, expiresAt: environment.clock.now().advanced(bySeconds: RedirectStart.lifetime))
            guard try await mappingStoreErrors(await store.beginPhoneVerification(subject)) else {
                throw .sessionUnknown
            }
            let (url, seconds) = try await redirects.begin(
                task: id, start, at: inquiry.target, for: inquiry.client, correlationID)
            return (id.exposed, url, seconds, correlationID)
        } failed: { error in
            environment.logStart(error, at: question.provider, correlationID)
            return nil
        }
    }
}
