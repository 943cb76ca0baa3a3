import OpenIDConnect
import Primitives
import StorageModel

extension BackchannelAuthentication {
    /// Signs in the user that the carrier vouched for. One commit finds or creates the user, starts the session and
    /// ends the record.
    ///
    /// Port tokens count the first time only. A retry finds the account already moved.
    func end(
        _ found: BackchannelAuthenticationRecord, _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) -> SignInOutcome {
        log.begin(.store)
        let migration = AccountMigration(store: store)
        var record = found
        for _ in 0..<8 {
            let isFirst = record.phase == .approved
            guard isFirst || record.phase == .done, let identity = record.identity else { throw .backchannelUnknown }
            // The first time, the audit record tells of it.
            if !isFirst { try await migration.refuseIfMoved(identity) }
            let now = clock.now()
            let issued = sessions.issue(for: record.terms.clientID)
            let ticket = sessions.cache.ticket(at: now)
            var ended = record
            ended.phase = .done
            ended.portedFrom = []
            if isFirst { ended.removedAt = now.advanced(bySeconds: configuration.lifetimes.retryWindow) }
            let replacement = ended
            var signIn = SignInRecord(
                identity: identity, profile: record.profile, session: issued.record, newcomers: newcomers(isFirst),
                portedFrom: isFirst ? record.portedFrom : [], requestID: record.terms.correlationID)
            signIn.verified = record.verified
            signIn.claims = claimsVault.update(
                with: ClientClaims(claims(of: record), for: record.terms.clientID, from: identity.issuer),
                asked: record.terms.scope.split(ascii: " ").map(String.init))
            let ending = try await stored(await store.endBackchannelAuthentication(replacement, with: signIn))
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
                return .mustRegister(try await offer(record, identity))
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

    private func offer(
        _ record: BackchannelAuthenticationRecord, _ identity: Identity
    ) async throws(SignInError) -> RegistrationOffer {
        guard configuration.registration.isRequired else { throw .backchannelUnknown }
        return try await registrationOffers.offer(
            to: VerifiedSignIn(identity, userInfo(of: record)), clientID: record.terms.clientID,
            try correlationID(of: record))
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
