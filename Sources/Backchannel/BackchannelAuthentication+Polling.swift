import OpenIDConnect
import Primitives
import SignIn
import StorageModel

extension BackchannelAuthentication {
    /// Asks a provider for the tokens of a request, once, and signs its user in if it has them; nil if it has none yet.
    ///
    /// At most one poll of a request is under way, at whatever instance: who stores the claim on the record polls. If
    /// an instance ends meanwhile, its claim ends by time.
    func fetchTokens(
        of found: BackchannelAuthenticationRecord, _ handle: Secret, for caller: Caller,
        givingBackTo allowance: SharedAllowance?
    ) async throws(SignInError) -> SignInOutcome? {
        try await logged(.poll, found.terms, for: caller) { (log) async throws(SignInError) in
            log.begin(.discovery)
            let context: BackchannelAuthenticationContext
            do throws(SignInError) {
                context = try await self.context(of: found.terms, log)
            } catch  where error.fault == .provider {
                throw .cannotVerifyTokens.explained(by: error)
            }
            // The tokens are given once, so the keys that they need come first.
            try await mappingErrors(
                awaiting: try await context.relyingParty.prepareValidation(
                    at: context.provider, correlationID: context.correlationID)
            ) { (error: OIDCError) in SignInError.cannotVerifyTokens.explained(by: error) }
            log.begin(.store)
            guard let claimed = try await claim(found, context) else { return nil }
            guard let polling = claimed.polling, let request = polling.request(openedBy: handle) else {
                throw .internalFault
            }
            log.begin(.token)
            let response: BackchannelTokenResponse
            do throws(OIDCError) {
                response = try await context.relyingParty.poll(
                    request, client: context.client.credentials, provider: context.provider,
                    correlationID: context.correlationID)
            } catch {
                log.begin(.store)
                guard error.endsRequest else {
                    try await release(claimed, .failed)
                    log.write(pollFailure: SignInError(error))
                    return nil
                }
                throw try await fail(claimed, .poll(error), log).explained(by: error)
            }
            log.begin(.store)
            switch response {
            case .pending: try await release(claimed, .pending)
            case .slowDown: try await release(claimed, .slowDown)
            case .tokens(let tokens):
                return try await end(claimed, with: tokens, for: request, context, givingBackTo: allowance, log)
            }
            return nil
        }
    }

    /// Validates the tokens that a poll brought, and signs their user in.
    private func end(
        _ claimed: BackchannelAuthenticationRecord, with tokens: TokenResponse, for request: Secret,
        _ context: BackchannelAuthenticationContext, givingBackTo allowance: SharedAllowance?,
        _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) -> SignInOutcome {
        log.step = .end
        let verified: VerifiedSignIn
        do throws(OIDCError) {
            guard let idToken = tokens.idToken else { throw OIDCError.failed(.format) }
            verified = try await context.verify(
                idToken, tokens.accessToken, boundTo: tokens.accessTokenKey, of: request, nonce: nil,
                keeping: context.target.server.rules.storesTokens ? tokens : nil, at: clock.now())
        } catch {
            log.begin(.store)
            let failure = error.check.map(BackchannelAuthenticationFailure.idToken) ?? .unusable
            _ = try await fail(claimed, failure, log)
            throw SignInError(error, codeWasPosted: true, advice: "Start a new sign-in.")
        }
        return try await end(claimed, approvedBy: verified, givingBackTo: allowance, log)
    }

    /// Claims the poll that is due; nil if it is not, or no more.
    private func claim(
        _ found: BackchannelAuthenticationRecord, _ context: BackchannelAuthenticationContext
    ) async throws(SignInError) -> BackchannelAuthenticationRecord? {
        let seconds = context.relyingParty.backchannelPollTimeout(at: context.provider).components.seconds
        var isClaimed = false
        let record = try await change(found) { (record, now) throws(SignInError) in
            isClaimed = false
            guard record.phase(at: now) == .pending, record.polling?.isDue(at: now) ?? false else { return false }
            record.polling?.begin(at: now, seconds: seconds)
            isClaimed = true
            return true
        }
        return isClaimed ? record : nil
    }

    /// Ends the claim of a poll that brought no outcome.
    private func release(
        _ claimed: BackchannelAuthenticationRecord, _ ending: TokenPolling.Ending
    ) async throws(SignInError) {
        guard let beginning = claimed.polling else { return }
        _ = try await change(claimed) { (record, now) throws(SignInError) in
            // Another instance has taken over after a claim that lasted too long.
            guard record.polling?.busyUntil == beginning.busyUntil else { return false }
            record.polling?.end(ending, begunAs: beginning, at: now)
            return true
        }
    }

    /// Records that a sign-in has failed.
    /// - Returns: The error for the client.
    private func fail(
        _ claimed: BackchannelAuthenticationRecord, _ failure: BackchannelAuthenticationFailure,
        _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) -> SignInError {
        log.step = .end
        _ = try await change(claimed) { (record, now) throws(SignInError) in
            guard record.notification == claimed.notification, let phase = try record.phase(after: .refusal, at: now)
            else { return false }
            record.phase = phase
            record.failure = failure
            record.polling?.sealedRequest = nil
            record.polling?.busyUntil = nil
            record.user = nil
            return true
        }
        return failure.error
    }

    /// Signs in the user that the provider vouched for. One commit finds or creates the user, starts the session and
    /// ends the record.
    ///
    /// Port tokens count the first time only. A retry finds the account already moved.
    /// - Parameters:
    ///   - verified: The user, if a poll has just brought the tokens. Then the approval is part of the commit.
    ///   - allowance: In which the prompt counts no longer, the first time.
    func end(
        _ found: BackchannelAuthenticationRecord, approvedBy verified: VerifiedSignIn? = nil,
        givingBackTo allowance: SharedAllowance?,
        _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) -> SignInOutcome {
        log.begin(.store)
        var record = found
        for _ in 0..<8 {
            if let verified { try approve(&record, by: verified) }
            let isFirst = record.phase == .approved
            guard isFirst || record.phase == .done, let vouched = record.user else { throw .backchannelUnknown }
            let identity = vouched.identity
            // The first time, the audit log tells of it.
            if !isFirst { try await completion.store.refuseIfMoved(identity) }
            let correlationID = record.terms.correlationID
            let (provider, clientID) = (record.terms.provider, record.terms.clientID.text)
            // Another instance may have ended the record meanwhile, with another user of the provider.
            let approved = verified.flatMap { $0.identity == identity ? $0 : nil }
            let user = approved ?? VerifiedSignIn(identity, userInfo(of: vouched, record.handle))
            let (started, signInRecord) = completion.begin(
                user, of: provider, for: clientID, asking: record.terms.demand.scopes, correlationID
            ) { signInRecord in
                if isFirst {
                    signInRecord.portedFrom = vouched.portedFrom
                } else {
                    // A repeated poll must not bring back a user who was erased since.
                    signInRecord.newcomers = .mustRegister
                }
            }
            // The prompts of carriers do not count for their callers alone.
            let counted = isFirst && record.polling != nil ? allowance : nil
            let ending = try await mappingStoreErrors(
                await store.endBackchannelAuthentication(
                    ended(record, at: clock.now()), with: signInRecord, givingBackTo: counted))
            switch ending {
            case .signedIn(let signedIn):
                log.hasMoved = signedIn.wasMoved
                log.outcome = .signedIn(
                    completion.end(started, by: signedIn, correlationID, isRepeated: !isFirst))
            case .unknownUser:
                try await completion.store.refuseIfMoved(identity)
                guard completion.mustRegister else { throw .backchannelUnknown }
                log.outcome = .mustRegister(
                    try await completion.offer(to: user, of: provider, for: clientID, correlationID))
            case .sessionEnded: throw .backchannelSignedOutSince
            case .changed: record = try await self.record(of: record.handle)
            }
            if let outcome = log.outcome { return outcome }
        }
        throw .backchannelContended
    }

    /// The record of a sign-in whose client has the outcome.
    private func ended(
        _ record: BackchannelAuthenticationRecord, at now: Timestamp
    ) -> BackchannelAuthenticationRecord {
        var ended = record
        if record.phase == .approved { ended.removedAt = now.advanced(bySeconds: feature.retryWindow) }
        ended.phase = .done
        ended.user?.portedFrom = []
        ended.polling?.sealedRequest = nil
        return ended
    }

    /// Records the user that the tokens of a poll name. Whatever ended the sign-in while they were under way stays.
    private func approve(
        _ record: inout BackchannelAuthenticationRecord, by verified: VerifiedSignIn
    ) throws(SignInError) {
        guard record.phase == .pending else {
            guard record.phase == .cancelled else { return }
            throw .backchannelCancelled
        }
        record.phase = .approved
        record.user = vouchedUser(verified, of: record)
    }

    /// The user's attributes and claims, as the provider sent them.
    private func userInfo(of user: BackchannelAuthenticationRecord.VouchedUser, _ handle: TokenHash) -> UserInfo {
        var userInfo = UserInfo()
        userInfo.attributes = user.profile
        userInfo.verified = user.verified
        userInfo.claims = completion.claimsVault.claims(in: user.claims, of: handle)
        userInfo.isPartial = user.isPartial
        return userInfo
    }

    /// The user that a provider vouches for, as a record keeps them.
    func vouchedUser(
        _ verified: VerifiedSignIn, of record: BackchannelAuthenticationRecord
    ) -> BackchannelAuthenticationRecord.VouchedUser {
        .init(
            identity: verified.identity, profile: verified.userInfo?.attributes ?? Profile(),
            verified: verified.userInfo?.verified ?? VerifiedFlags(),
            claims: verified.userInfo.flatMap { completion.claimsVault.stored($0.claims, of: record.handle) },
            isPartial: verified.userInfo?.isPartial ?? false)
    }
}

extension OIDCError {
    /// Whether the request that was polled has ended with this error: the provider refused it, or gave something
    /// unusable in place of the tokens, or an ID token that cannot be decrypted. It gives the tokens once.
    fileprivate var endsRequest: Bool {
        isRefusal || check != nil || code == .unusableResponse && request?.status == 200
    }
}

extension BackchannelAuthenticationFailure {
    /// A poll that ended its request.
    fileprivate static func poll(_ error: OIDCError) -> Self {
        if let check = error.check { return .idToken(check) }
        return error.isRefusal ? .carrier(error.carrierError ?? "invalid_client") : .unusable
    }
}
