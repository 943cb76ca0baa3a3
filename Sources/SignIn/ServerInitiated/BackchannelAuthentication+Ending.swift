import OpenIDConnect
import Primitives
import StorageModel

extension BackchannelAuthentication {
    /// Signs in whom the carrier vouched for: makes the user if need be, the session, and the end, in one commit.
    ///
    /// Port tokens count at the first end only: one that is sent again finds what the first one made of them.
    func end(
        _ found: BackchannelAuthenticationRecord, _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) -> SignInOutcome {
        log.begin(.store)
        let migration = AccountMigration(store: store)
        var record = found
        for _ in 0..<8 {
            let isFirst = record.phase == .approved
            guard isFirst || record.phase == .done, let identity = record.identity else { throw .backchannelUnknown }
            // The first end has told the audit record.
            if !isFirst { try await migration.refuseIfMoved(identity) }
            let now = clock.now()
            let issued = try sessions.issue(for: record.terms.clientID)
            let ticket = sessions.cache.ticket(at: now)
            var ended = record
            ended.phase = .done
            ended.portedFrom = []
            if isFirst { ended.removedAt = now.advanced(bySeconds: configuration.lifetimes.retryWindow) }
            let replacement = ended
            let signIn = SignInRecord(
                identity: identity, profile: record.profile, session: issued.record, newcomers: newcomers(isFirst),
                portedFrom: isFirst ? record.portedFrom : [], requestID: record.terms.correlationID)
            let ending = try await storing { () async throws(StorageError) in
                try await store.endBackchannelAuthentication(replacement, with: signIn)
            }
            switch ending {
            case .signedIn(let signedIn):
                if signedIn.wasMoved { log.movedAccount() }
                sessions.remember(issued, of: signedIn.user, ticket)
                return .signedIn(
                    SignedIn(
                        tokens: issued.tokens, userID: signedIn.user.id, isNew: signedIn.isNew,
                        correlationID: try correlationID(of: record)))
            case .unknownUser:
                try await migration.refuseIfMoved(identity)
                return .mustRegister(try await offer(record, identity))
            case .sessionEnded: throw .backchannelSignedOutSince
            case .changed: record = try await reloaded(record)
            }
        }
        throw SignInError(StorageError(.overloaded, reason: "a server-initiated sign-in changes all the time"))
    }

    /// Only the first end makes a user: one who was erased since does not come back by a poll that is sent again.
    private func newcomers(_ isFirst: Bool) -> SignInRecord.Newcomers {
        isFirst && !configuration.registration.isRequired
            ? .welcome(publicID: random.token(bytes: 16)) : .mustRegister
    }

    private func offer(
        _ record: BackchannelAuthenticationRecord, _ identity: Identity
    ) async throws(SignInError) -> RegistrationOffer {
        guard configuration.registration.isRequired else { throw .backchannelUnknown }
        return try await desk.offer(
            to: identity, record.profile, clientID: record.terms.clientID, try correlationID(of: record))
    }

    private func correlationID(of record: BackchannelAuthenticationRecord) throws(SignInError) -> CorrelationID {
        guard let id = CorrelationID(record.terms.correlationID) else { throw .internalFault }
        return id
    }
}
