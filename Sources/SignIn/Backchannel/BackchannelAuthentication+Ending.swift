import OpenIDConnect
import Primitives
import StorageModel

extension BackchannelAuthentication {
    /// Signs in the user that the carrier vouched for. One commit finds or creates the user, starts the session and
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
            guard isFirst || record.phase == .done, let identity = record.identity else { throw .backchannelUnknown }
            // The first time, the audit log tells of it.
            if !isFirst { try await completion.migration.refuseIfMoved(identity) }
            guard let correlationID = CorrelationID(record.terms.correlationID) else { throw .internalFault }
            let (provider, clientID) = (record.terms.provider, record.terms.clientID)
            let user = verified ?? VerifiedSignIn(identity, userInfo(of: record))
            var started = completion.begin(
                user, of: provider, for: clientID, asking: record.terms.scope.split(ascii: " ").map(String.init),
                correlationID)
            if isFirst {
                started.record.portedFrom = record.portedFrom
            } else {
                // A repeated poll must not bring back a user who was erased since.
                started.record.newcomers = .mustRegister
            }
            // The prompts of carriers do not count for their callers alone.
            let counted = isFirst && record.polling != nil ? allowance : nil
            let ending = try await stored(
                await store.endBackchannelAuthentication(
                    ended(record, at: clock.now()), with: started.record, givingBackTo: counted))
            switch ending {
            case .signedIn(let signedIn):
                if signedIn.wasMoved { log.movedAccount() }
                return .signedIn(completion.end(started, by: signedIn, correlationID, isRepeated: !isFirst))
            case .unknownUser:
                try await completion.migration.refuseIfMoved(identity)
                guard completion.mustRegister else { throw .backchannelUnknown }
                return .mustRegister(try await completion.offer(user, of: provider, for: clientID, correlationID))
            case .sessionEnded: throw .backchannelSignedOutSince
            case .changed: record = try await self.record(of: record.handle)
            }
        }
        throw .backchannelContended
    }

    /// The record of a sign-in whose client has the outcome.
    private func ended(
        _ record: BackchannelAuthenticationRecord, at now: Timestamp
    ) -> BackchannelAuthenticationRecord {
        var ended = record
        if record.phase == .approved { ended.removedAt = now.advanced(bySeconds: configuration.lifetimes.retryWindow) }
        ended.phase = .done
        ended.portedFrom = []
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
        record.vouch(for: verified, completion.claimsVault)
    }

    /// The user's attributes and claims, as the carrier sent them.
    private func userInfo(of record: BackchannelAuthenticationRecord) -> UserInfo {
        var userInfo = UserInfo()
        userInfo.attributes = record.profile
        userInfo.emailVerified = record.verified.email
        userInfo.phoneNumberVerified = record.verified.phoneNumber
        userInfo.claims = completion.claimsVault.claims(in: record.claims, of: record.handle)
        return userInfo
    }
}

extension BackchannelAuthenticationRecord {
    /// Records the user that a provider vouches for, with the attributes.
    mutating func vouch(for verified: VerifiedSignIn, _ claimsVault: ClaimsVault) {
        identity = verified.identity
        profile = verified.userInfo?.attributes ?? Profile()
        self.verified = verified.userInfo?.verified ?? VerifiedFlags()
        claims = verified.userInfo.flatMap { claimsVault.stored($0.claims, of: handle) }
    }
}
