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
        _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) -> SignInOutcome {
        log.begin(.store)
        let migration = AccountMigration(store: store)
        var record = found
        for _ in 0..<8 {
            if let verified { try approve(&record, by: verified) }
            let isFirst = record.phase == .approved
            guard isFirst || record.phase == .done, let identity = record.identity else { throw .backchannelUnknown }
            // The first time, the audit log tells of it.
            if !isFirst { try await migration.refuseIfMoved(identity) }
            let now = clock.now()
            let issued = sessions.issue(for: record.terms.clientID)
            let ticket = sessions.cache.ticket(at: now)
            var ended = record
            ended.phase = .done
            ended.portedFrom = []
            ended.polling?.sealedRequest = nil
            if isFirst { ended.removedAt = now.advanced(bySeconds: configuration.lifetimes.retryWindow) }
            let replacement = ended
            var signIn = SignInRecord(
                identity: identity, profile: record.profile, session: issued.record, newcomers: newcomers(isFirst),
                portedFrom: isFirst ? record.portedFrom : [], requestID: record.terms.correlationID,
                tokens: verified?.tokens.map {
                    vault.storing($0, of: record.terms.provider, for: record.terms.clientID)
                })
            signIn.providerSession = verified?.providerSession
            signIn.verified = record.verified
            signIn.claims = claimsVault.update(
                with: ClientClaims(claims(of: record), for: record.terms.clientID, from: identity.issuer),
                asked: record.terms.scope.split(ascii: " ").map(String.init))
            // The prompts of carriers do not count for their callers alone.
            let counted = isFirst && record.polling != nil ? allowance : nil
            let ending = try await stored(
                await store.endBackchannelAuthentication(replacement, with: signIn, givingBackTo: counted))
            switch ending {
            case .signedIn(let signedIn):
                if signedIn.wasMoved { log.movedAccount() }
                if signedIn.isChanged { sessions.cache.remove(signedIn.user.id) }
                sessions.remember(issued, of: signedIn.user, ticket)
                return .signedIn(
                    SignedIn(
                        tokens: issued.tokens, userID: signedIn.user.id, isNew: signedIn.isNew,
                        correlationID: try correlationID(of: record), isRepeated: !isFirst))
            case .unknownUser:
                try await migration.refuseIfMoved(identity)
                return .mustRegister(try await offer(record, identity, verified))
            case .sessionEnded: throw .backchannelSignedOutSince
            case .changed: record = try await self.record(of: record.handle)
            }
        }
        throw .backchannelContended
    }

    /// Only the first end creates a user: a repeated poll must not bring back a user who was erased since.
    private func newcomers(_ isFirst: Bool) -> SignInRecord.Newcomers {
        isFirst && !configuration.registration.isRequired ? .welcome(publicID: random.token(bytes: 16)) : .mustRegister
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
        record.vouch(for: verified, claimsVault)
    }

    private func offer(
        _ record: BackchannelAuthenticationRecord, _ identity: Identity, _ verified: VerifiedSignIn?
    ) async throws(SignInError) -> RegistrationOffer {
        guard configuration.registration.isRequired else { throw .backchannelUnknown }
        let offer = try await registrationOffers.offer(
            to: verified ?? VerifiedSignIn(identity, userInfo(of: record)), clientID: record.terms.clientID,
            try correlationID(of: record))
        if let waiting = verified.flatMap({ WaitingTokens($0, of: record.terms.provider) }) {
            try await oneTimeStore.keep(
                waiting.bytes, for: .waitingTokens, under: offer.handle, seconds: offer.expiresIn)
        }
        return offer
    }

    private func correlationID(of record: BackchannelAuthenticationRecord) throws(SignInError) -> CorrelationID {
        guard let id = CorrelationID(record.terms.correlationID) else { throw .internalFault }
        return id
    }

    /// The user's attributes and claims, as the carrier sent them.
    private func userInfo(of record: BackchannelAuthenticationRecord) -> UserInfo {
        var userInfo = UserInfo()
        userInfo.attributes = record.profile
        userInfo.emailVerified = record.verified.email
        userInfo.phoneNumberVerified = record.verified.phoneNumber
        userInfo.claims = claims(of: record)
        return userInfo
    }

    private func claims(of record: BackchannelAuthenticationRecord) -> ConsentedClaims {
        claimsVault.claims(in: record.claims, of: record.handle)
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
