import OpenIDConnect
package import Primitives
import StorageModel

extension BackchannelAuthentication {
    /// A carrier that presented the notification token of a sign-in's latest request.
    package struct Notifier: Sendable {
        let record: BackchannelAuthenticationRecord
        let token: NotificationToken
    }

    /// Finds the sign-in that a notification token belongs to.
    ///
    /// Looked up by its hash, so that the time taken reveals nothing about existing tokens.
    /// - Throws: `invalid_token`; `temporarily_unavailable`.
    package func authenticate(_ token: Secret) async throws(SignInError) -> Notifier {
        guard token.exposed.utf8.count == RandomSource.tokenCharacters else { throw .notificationTokenUnknown }
        let token = NotificationToken(token)
        let now = clock.now()
        let record = try await stored(await store.backchannelAuthentication(notification: token.hash, at: now))
        guard let record else { throw .notificationTokenUnknown }
        return Notifier(record: record, token: token)
    }

    /// Receives a carrier's notification. Duplicates and late notifications change nothing and are no error.
    ///
    /// - Throws: `invalid_request` if it is about another request; `invalid_id_token`, and the sign-in has failed;
    ///   `temporarily_unavailable` if it cannot be verified now, and the sign-in still waits.
    package func receive(_ notification: BackchannelNotification, from notifier: Notifier) async throws(SignInError) {
        let record = notifier.record
        try await logged(.notification, record.terms) { (log) async throws(SignInError) in
            let id = notification.requestHash
            guard record.carrierRequest == nil || record.carrierRequest == id,
                notification.state?.exposed.hasSameBytesInConstantTime(as: notifier.token.state.exposed) ?? true
            else { throw .notificationOfAnother }
            guard BackchannelAuthenticationStatus(record, at: clock.now()) == .pending else { return }
            switch notification.outcome {
            case .refused(let code):
                log.begin(.store)
                try await settle(notifier, notification, .refusal) {
                    $0.failure = BackchannelAuthenticationFailure(carrierCode: code).text
                }
            case .approved(let idToken, let accessToken):
                try await approve(notifier, notification, idToken, accessToken, &log)
            }
        }
    }

    private func approve(
        _ notifier: Notifier, _ notification: BackchannelNotification, _ idToken: Secret, _ accessToken: Secret?,
        _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) {
        log.begin(.discovery)
        let context: BackchannelAuthenticationContext
        do throws(SignInError) {
            context = try await self.context(of: notifier.record.terms)
        } catch {
            throw .cannotVerifyNotification.explained(by: error)
        }
        guard accessToken != nil || !context.wantsAttributes else { throw .notificationWithoutAccessToken }
        let verified: VerifiedSignIn
        do throws(OIDCError) {
            verified = try await context.verify(idToken, accessToken, of: notification.requestID, notifier.token, &log)
        } catch {
            log.begin(.store)
            // Unverifiable is not invalid: the carrier may send it again.
            guard let check = error.check else { throw .cannotVerifyNotification.explained(by: error) }
            try await settle(notifier, notification, .refusal) {
                $0.failure = BackchannelAuthenticationFailure.idToken(check).text
            }
            throw SignInError(error, codeWasPosted: true)
        }
        if !verified.portTokens.isEmpty { log.begin(.migrate) }
        let ported = try await AccountMigration(store: store).formerIdentities(
            of: verified, for: context.client.id, context.relyingParty
        ) { [log] in log.write($0) }
        log.begin(.store)
        let collection = clock.now().advanced(bySeconds: configuration.backchannelAuthentication.collectionTime)
        try await settle(notifier, notification, .approval) { record in
            record.identity = verified.identity
            record.profile = verified.userInfo?.attributes ?? Profile()
            record.verified = verified.userInfo?.verified ?? VerifiedFlags()
            record.claims = verified.userInfo.flatMap { claimsVault.stored($0.claims, of: record.handle) }
            record.portedFrom = ported
            record.expiresAt = max(record.expiresAt, collection)
            record.removedAt = max(record.removedAt, record.expiresAt)
        }
    }

    /// Ends the wait for this request's notification, if the sign-in still waits for it.
    private func settle(
        _ notifier: Notifier, _ notification: BackchannelNotification,
        _ event: BackchannelAuthenticationStatus.Event, _ note: (inout BackchannelAuthenticationRecord) -> Void
    ) async throws(SignInError) {
        let id = notification.requestHash
        _ = try await change(notifier.record) { (record, now) throws(SignInError) in
            guard record.notification == notifier.token.hash,
                record.carrierRequest == nil || record.carrierRequest == id,
                case .becomes(let phase) = BackchannelAuthenticationStatus(record, at: now).after(event)
            else { return false }
            record.carrierRequest = id
            record.phase = phase
            note(&record)
            return true
        }
    }
}

extension BackchannelAuthenticationContext {
    /// Validates the ID token of a notification, and fetches the attributes if they are asked for.
    fileprivate func verify(
        _ idToken: Secret, _ accessToken: Secret?, of requestID: Secret, _ token: NotificationToken,
        _ log: inout BackchannelAuthenticationLog
    ) async throws(OIDCError) -> VerifiedSignIn {
        var expectation = IDTokenExpectation(
            clientID: client.id, nonce: token.nonce.exposed, acrValues: acrValues, context: terms.context,
            accessToken: accessToken)
        expectation.signingAlgorithms = client.signingAlgorithms
        expectation.nonceMayBeMissing = true
        expectation.requestID = requestID
        log.begin(.validate)
        let signed = try client.credentials.signedToken(in: idToken, rules: relyingParty.idTokenRules)
        let verified = try await relyingParty.validate(
            idToken: signed, expecting: expectation, provider: carrier, correlationID: correlationID
        ) { log.note($0) }
        guard wantsAttributes, let accessToken else { return VerifiedSignIn(verified, nil) }
        log.begin(.userinfo)
        var userInfo = try await relyingParty.userInfo(
            accessToken: accessToken, about: verified, signedWith: client.userInfoSigningAlgorithm,
            orAnyOf: client.usualSigningAlgorithms, client: client.credentials, provider: carrier,
            correlationID: correlationID)
        userInfo.claims = userInfo.claims.requested(by: scopes + client.scopes)
        return VerifiedSignIn(verified, userInfo)
    }
}

extension BackchannelNotification {
    fileprivate var requestHash: TokenHash { TokenHash(sha256Of: requestID.exposed) }
}
