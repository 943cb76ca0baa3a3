import Crypto
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

extension BackchannelAuthentication {
    /// A provider that presented the notification token of a sign-in's latest request.
    struct Notifier: Sendable {
        let record: BackchannelAuthenticationRecord
        let token: NotificationToken

        /// Whether its notification says only that the tokens are ready (CIBA Core section 10.2). A carrier's has them.
        var isPing: Bool { record.polling != nil }
    }

    /// Finds the sign-in that a notification token belongs to.
    ///
    /// Looked up by its hash, so that the time taken reveals nothing about existing tokens.
    /// - Parameters:
    ///   - provider: Whose notification endpoint it is.
    ///   - requestID: Names the failure of a notification that belongs to no sign-in; a random one if nil.
    /// - Throws: `invalid_token`; `temporarily_unavailable`.
    func authenticate(
        _ token: Secret, at provider: String, requestID: String? = nil
    ) async throws(SignInError) -> Notifier {
        try await failures.recording { () async throws(SignInError) in
            guard token.exposed.utf8.count == RandomSource.tokenCharacters else { throw .notificationTokenUnknown }
            let notification = NotificationToken(token)
            let now = clock.now()
            let record = try await mappingStoreErrors(
                await store.backchannelAuthentication(notification: notification.hash, at: now))
            guard let record, record.terms.provider == provider else { throw .notificationTokenUnknown }
            return Notifier(record: record, token: notification)
        } failed: { _ in
            FailedOperation(
                ofUnknownCaller: .backchannelAuthentication, requestID: requestID ?? random.token(bytes: 16),
                at: provider, providers[provider]?.server,
                requested: [("operation", .name("notification")), ("notification_token", .secret(token))])
        }
    }

    /// Receives a provider's notification. Duplicates and late notifications change nothing and are not errors.
    ///
    /// - Throws: `invalid_request` if it is about another request, and `invalid_token` if it is a ping about another
    ///   one; `invalid_id_token`, and the sign-in has failed; `temporarily_unavailable` if it cannot be verified now,
    ///   and the sign-in still waits.
    func receive(_ notification: BackchannelNotification, from notifier: Notifier) async throws(SignInError) {
        let record = notifier.record
        try await logged(.notification, record.terms) { (log) async throws(SignInError) in
            let id = notification.requestHash
            let isOfRequest = record.carrierRequest == nil || record.carrierRequest == id
            let hasState =
                notification.state?.exposed.hasSameBytesInConstantTime(as: notifier.token.state.exposed) ?? true
            log.notification =
                notification.failureMembers + [
                    ("is_ping", .flag(notifier.isPing)), ("matches_request", .flag(isOfRequest)),
                    ("matches_state", .flag(hasState)),
                ]
            // CIBA Core section 10.2 demands 401 for a token that does not belong to the `auth_req_id`.
            guard isOfRequest, hasState else {
                throw notifier.isPing ? .notificationTokenUnknown : .notificationOfAnother
            }
            guard record.phase(at: clock.now()) == .pending else { return }
            switch notification.outcome {
            case .ready:
                log.begin(.store)
                // The next poll may ask for the tokens at once. The first notification counts.
                try await note(notifier, notification) { (record, now) in
                    guard record.phase(at: now) == .pending, let polling = record.polling, polling.mode == .ping,
                        !polling.isNotified
                    else { return false }
                    record.polling?.notify(at: now)
                    return true
                }
            case .refused(let code):
                log.begin(.store)
                let failure = BackchannelAuthenticationFailure.carrier(sending: code)
                try await settle(notifier, notification, .refusal) { $0.failure = failure }
                await failures.note(failedOperation(of: record.terms, log), failure.error)
            case .approved(let idToken, let accessToken):
                try await approve(notifier, notification, idToken, accessToken, log)
            }
        }
    }

    /// Logs a notification that cannot be read, and tells the observer of failures.
    /// - Parameter problem: What is wrong with it: sentences without any of its text.
    func refuse(unreadable problem: String, from notifier: Notifier) async {
        _ = try? await logged(.notification, notifier.record.terms) { (log) async throws(SignInError) -> Void in
            log.notification = [("is_readable", .flag(false))]
            throw .invalidRequest(problem)
        }
    }

    private func approve(
        _ notifier: Notifier, _ notification: BackchannelNotification, _ idToken: Secret, _ accessToken: Secret?,
        _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) {
        log.begin(.discovery)
        let context = try await mappingErrors(
            awaiting: try await self.context(of: notifier.record.terms, log)
        ) { (error: SignInError) in SignInError.cannotVerifyNotification.explained(by: error) }
        guard accessToken != nil || !context.wantsAttributes else { throw .notificationWithoutAccessToken }
        let verified: VerifiedSignIn
        do throws(OIDCError) {
            log.begin(.validate)
            let signed = try context.client.credentials.signedToken(
                in: idToken, rules: context.relyingParty.idTokenRules)
            verified = try await context.verify(
                signed, accessToken, of: notification.requestID, nonce: notifier.token.nonce)
        } catch {
            log.begin(.store)
            // Unverifiable is not invalid: the provider may send the tokens again.
            guard let check = error.check else { throw .cannotVerifyNotification.explained(by: error) }
            try await settle(notifier, notification, .refusal) {
                $0.failure = .idToken(check)
            }
            throw SignInError(error, codeWasPosted: true)
        }
        let ported = try await completion.formerIdentities(of: verified, in: context)
        log.begin(.store)
        let collection = clock.now().advanced(bySeconds: Self.collectionTime)
        try await settle(notifier, notification, .approval) { record in
            record.user = vouchedUser(verified, of: record)
            record.user?.portedFrom = ported
            record.expiresAt = max(record.expiresAt, collection)
            record.removedAt = max(record.removedAt, record.expiresAt)
        }
    }

    /// Ends the wait for this request's notification, if the sign-in still waits for it.
    private func settle(
        _ notifier: Notifier, _ notification: BackchannelNotification,
        _ event: BackchannelAuthenticationRecord.Event, _ change: (inout BackchannelAuthenticationRecord) -> Void
    ) async throws(SignInError) {
        try await note(notifier, notification) { (record, now) throws(SignInError) in
            guard let phase = try record.phase(after: event, at: now) else { return false }
            record.phase = phase
            change(&record)
            return true
        }
    }

    /// Changes the record by a notification, if it is about the latest request.
    /// - Parameter change: As for ``change(_:by:)``.
    private func note(
        _ notifier: Notifier, _ notification: BackchannelNotification,
        _ change: (inout BackchannelAuthenticationRecord, Timestamp) throws(SignInError) -> Bool
    ) async throws(SignInError) {
        let id = notification.requestHash
        _ = try await self.change(notifier.record) { (record, now) throws(SignInError) in
            guard record.notification == notifier.token.hash,
                record.carrierRequest == nil || record.carrierRequest == id, try change(&record, now)
            else { return false }
            record.carrierRequest = id
            return true
        }
    }
}

/// A provider's notification about a backchannel authentication.
struct BackchannelNotification: Sendable {
    enum Outcome: Sendable {
        case approved(idToken: Secret, accessToken: Secret?)
        /// The provider refused, with its error code.
        case refused(String)
        /// The provider has the outcome at its token endpoint (CIBA Core section 10.2).
        case ready
    }

    /// The id that the provider gave the request (`auth_req_id`).
    var requestID: Secret
    var state: Secret?
    var outcome: Outcome

    fileprivate var requestHash: TokenHash { TokenHash(sha256Of: requestID.exposed) }

    /// What may be shown of it: no token, id or state.
    var failureMembers: [FailedOperation.Member] {
        switch outcome {
        case .approved(_, let accessToken):
            [("outcome", .name("approved")), ("has_access_token", .flag(accessToken != nil))]
        case .refused(let code): [("outcome", .name("refused")), ("error", .code(code))]
        case .ready: [("outcome", .name("ready"))]
        }
    }
}

/// The token that a provider must present with a notification about one request.
///
/// `state` and `nonce` are derived from the token, so that only the token's hash is stored: a provider that presents
/// the token presents all three.
struct NotificationToken: Sendable {
    let text: Secret
    let hash: TokenHash
    let state: Secret
    let nonce: Secret

    init(_ text: Secret) {
        self.text = text
        hash = TokenHash(sha256Of: text.exposed)
        state = Self.derived("state", text)
        nonce = Self.derived("nonce", text)
    }

    private static func derived(_ purpose: String, _ text: Secret) -> Secret {
        let key = SymmetricKey(data: Array(text.exposed.utf8))
        return Secret(Base64URL.encode(TokenHash(hmacOf: purpose, key: key).bytes))
    }
}
