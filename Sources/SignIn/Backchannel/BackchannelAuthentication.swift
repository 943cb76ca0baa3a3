import Crypto
import Logging
package import OpenIDConnect
package import Primitives
import StorageModel

/// Backchannel authentication: at this server's request, the carrier asks the user on their phone, without a browser
/// (OpenID Connect CIBA).
///
/// ```swift
/// let started = try await backchannelAuthentication.start(request, for: caller)
/// // The carrier asks the user, and posts the outcome to the notification endpoint: `receive`.
/// switch try await backchannelAuthentication.poll(started.handle, for: caller) {
/// case .pending: …
/// case .ended(let outcome): …
/// }
/// ```
package struct BackchannelAuthentication: Sendable {
    /// The path of the notification endpoint, where carriers post the outcome.
    package static let notificationPath = "/auth/zenkey-async-signin/notification"

    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let store: any BackchannelAuthenticationStore & IdentityStore
    let sessions: Sessions
    let registrationOffers: RegistrationOffers
    let claimsVault: ClaimsVault
    let pace: PollPace
    let prompts = PromptCounter()
    /// The keys of the hashes under which users are counted, by provider.
    let userKeys: [String: SymmetricKey]
    let clock: WallClock
    let random: RandomSource
    let logger: Logger
    let observer: SignInObserver

    package var promptStatistics: PromptStatistics { prompts.statistics }

    /// Asks the carrier to authenticate the user.
    ///
    /// - Parameters:
    ///   - quota: For whom the prompt counts, and how many one user may get.
    ///   - endpoint: This server's URL of ``notificationPath``; nil if its public URL is not configured.
    /// - Throws: `invalid_request`, the carrier's refusal, `carrier_error`, `carrier_timeout`, `rate_limited`,
    ///   `temporarily_unavailable`.
    package func start(
        _ request: BackchannelAuthenticationParameters, for caller: Caller,
        within quota: PromptQuota, notifiedAt endpoint: EndpointURL?
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        let correlationID = request.correlationID ?? .random(from: random)
        let terms = BackchannelAuthenticationRecord.Terms(request, correlationID)
        return try await logged(.start, terms) { (log) async throws(SignInError) in
            try await begin(terms, request.loginHint, for: caller, quota, endpoint, &log)
        }
    }

    /// The status of the sign-in. The first poll after the user's approval starts the session. A poll within the retry
    /// window after that starts another one, for a client that lost the response.
    ///
    /// - Throws: `not_found`; `expired_token`; `invalid_request` if it was cancelled; the carrier's refusal;
    ///   `invalid_id_token`; `rate_limited` above one poll a second; `temporarily_unavailable`.
    package func poll(_ handle: Secret, for caller: Caller) async throws(SignInError)
        -> BackchannelAuthenticationProgress
    {
        let found = try await find(handle, caller)
        guard pace.admits(found.handle) else { throw .polledTooSoon }
        let step = BackchannelAuthenticationStatus(found, at: clock.now()).after(.poll)
        if step == .stays, found.phase == .pending { return .pending }
        let outcome = try await logged(.end, found.terms) { (log) async throws(SignInError) in
            if case .refused(let status) = step { throw refusal(status, found) }
            let outcome = try await end(found, &log)
            log.outcome = outcome
            return outcome
        }
        return .ended(outcome)
    }

    /// Asks the carrier again, under the same handle. Notifications of an earlier request no longer count.
    ///
    /// - Throws: As ``start(_:for:within:notifiedAt:)``; `not_found`; `invalid_request` if the user has answered, or
    ///   if the sign-in was cancelled or retried too often.
    package func retry(
        _ handle: Secret, for caller: Caller, within quota: PromptQuota, notifiedAt endpoint: EndpointURL?
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        let found = try await find(handle, caller)
        return try await logged(.retry, found.terms) { (log) async throws(SignInError) in
            try checkRetry(of: found, at: clock.now())
            log.begin(.discovery)
            let context = try await context(of: found.terms)
            let means = try means(of: context, endpoint)
            log.begin(.store)
            guard let hint = LoginHint(found.terms.loginHint.exposed, at: context.network) else {
                throw .invalidRequest("login_hint \(LoginHint.demand).")
            }
            let prompt = try prompt(hint, context, quota)
            try check(
                try await stored(
                    await store.admitBackchannelRequest(of: found, for: prompt, limits: limits, at: clock.now())))
            let token = NotificationToken(Secret(random.token()))
            let record = try await change(found) { (record, now) throws(SignInError) in
                try checkRetry(of: record, at: now)
                record.becomePending(request: record.attempt + 1, token, sendingUntil: sendingDeadline(now))
                return true
            }
            return try await ask(
                context, NewRequest(record: record, prompt: prompt, token: token, handle: handle, means: means), &log)
        }
    }

    /// Cancels a sign-in. A later notification changes nothing.
    ///
    /// - Throws: `not_found`; `invalid_request` if it is done.
    package func cancel(_ handle: Secret, for caller: Caller) async throws(SignInError) {
        let found = try await find(handle, caller)
        try await logged(.cancel, found.terms) { (log) async throws(SignInError) in
            log.begin(.store)
            _ = try await change(found) { (record, now) throws(SignInError) in
                switch BackchannelAuthenticationStatus(record, at: now).after(.cancellation) {
                case .becomes(let phase):
                    record.phase = phase
                    record.forgetUser()
                    return true
                case .stays: return false
                case .refused: throw .backchannelCompleted
                }
            }
        }
    }

    private func begin(
        _ terms: BackchannelAuthenticationRecord.Terms, _ hint: LoginHint, for caller: Caller,
        _ quota: PromptQuota, _ endpoint: EndpointURL?, _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        log.begin(.discovery)
        let context = try await context(of: terms)
        let means = try means(of: context, endpoint)
        log.begin(.store)
        let handle = Secret(random.token())
        let token = NotificationToken(Secret(random.token()))
        let now = clock.now()
        // Stored before the request is sent, because a notification may arrive before the response.
        let record = BackchannelAuthenticationRecord(
            handle: TokenHash(sha256Of: handle.exposed), caller: caller.hash, terms: terms,
            notification: token.hash, expiresAt: sendingDeadline(now), removedAt: sendingDeadline(now))
        let prompt = try prompt(hint, context, quota)
        try check(
            try await stored(await store.addBackchannelAuthentication(record, for: prompt, limits: limits, at: now)))
        return try await ask(
            context, NewRequest(record: record, prompt: prompt, token: token, handle: handle, means: means), &log)
    }

    private var limits: BackchannelAuthenticationLimits { configuration.backchannelAuthentication.limits }

    private func prompt(
        _ hint: LoginHint, _ context: BackchannelAuthenticationContext, _ quota: PromptQuota
    ) throws(SignInError) -> BackchannelPrompt {
        guard let key = userKeys[context.terms.provider] else { throw .clientHasNoKey }
        return BackchannelPrompt(
            user: hint.hash(with: key, at: context.carrier.issuer), caller: quota.caller.hash, allowance: quota.perUser)
    }

    private func check(_ admission: BackchannelAuthenticationAdmission) throws(SignInError) {
        guard let error = SignInError(admission) else { return }
        if let outcome = PromptStatistics.Outcome(admission) { prompts.count(outcome) }
        throw error
    }

    /// How long a record waits for the carrier's response to its request.
    private func sendingDeadline(_ now: Timestamp) -> Timestamp { now.advanced(bySeconds: 60) }

    /// Finds the sign-in of a handle, if it belongs to the caller.
    private func find(_ handle: Secret, _ caller: Caller) async throws(SignInError) -> BackchannelAuthenticationRecord {
        guard handle.exposed.utf8.count == RandomSource.tokenCharacters else { throw .backchannelUnknown }
        let record = try await record(of: TokenHash(sha256Of: handle.exposed))
        // Unknown for another caller, so that guesses learn nothing.
        guard record.caller == caller.hash else { throw .backchannelUnknown }
        return record
    }

    private func checkRetry(of record: BackchannelAuthenticationRecord, at now: Timestamp) throws(SignInError) {
        if case .refused(let status) = BackchannelAuthenticationStatus(record, at: now).after(.retry) {
            throw status == .cancelled ? .backchannelCancelled : .backchannelCompleted
        }
        guard record.attempt < configuration.backchannelAuthentication.requests else { throw .backchannelTriedTooOften }
    }

    private func refusal(_ status: BackchannelAuthenticationStatus, _ record: BackchannelAuthenticationRecord)
        -> SignInError
    {
        switch status {
        case .failed:
            record.failure.flatMap(BackchannelAuthenticationFailure.init(text:))?.error
                ?? .refusedBackchannel("unknown_error")
        case .cancelled: .backchannelCancelled
        case .expired: .backchannelExpired
        case .pending, .approved, .done: .backchannelCompleted
        }
    }

    /// Changes a record, and starts again from its latest state if another request changed it meanwhile.
    /// - Parameter change: Returns false to leave the record as it is.
    func change(
        _ found: BackchannelAuthenticationRecord,
        by change: (inout BackchannelAuthenticationRecord, Timestamp) throws(SignInError) -> Bool
    ) async throws(SignInError) -> BackchannelAuthenticationRecord {
        var record = found
        for _ in 0..<8 {
            let now = clock.now()
            var changed = record
            guard try change(&changed, now) else { return record }
            let replacement = changed
            let isReplaced = try await stored(await store.replaceBackchannelAuthentication(replacement))
            if isReplaced {
                changed.revision += 1
                return changed
            }
            record = try await self.record(of: record.handle)
        }
        throw .backchannelContended
    }

    func record(of handle: TokenHash) async throws(SignInError) -> BackchannelAuthenticationRecord {
        let now = clock.now()
        let record = try await stored(await store.backchannelAuthentication(handle: handle, at: now))
        guard let record else { throw .backchannelUnknown }
        return record
    }

    /// Runs a step and writes its log line. An error gets the sign-in's correlation id.
    func logged<Value>(
        _ step: BackchannelAuthenticationLog.Step, _ terms: BackchannelAuthenticationRecord.Terms,
        _ body: (inout BackchannelAuthenticationLog) async throws(SignInError) -> Value
    ) async throws(SignInError) -> Value {
        var log = BackchannelAuthenticationLog(step, terms, logger, observer: observer)
        do throws(SignInError) {
            let value = try await body(&log)
            log.writeSuccess()
            return value
        } catch {
            // What the carrier notified of earlier came without a request of this server's.
            let isOfCarrier = error.carrierError != nil || error.check != nil
            let carrier = isOfCarrier ? relyingParties[terms.provider]?.knownProvider(for: MCCMNC(terms.network)) : nil
            log.write(error.at(carrier?.serverInitiatedAuthorizationEndpoint))
            guard let correlationID = CorrelationID(terms.correlationID) else { throw error }
            throw error.with(correlationID)
        }
    }
}

extension BackchannelAuthenticationRecord {
    /// Forgets the user that the carrier vouched for, with the attributes and port tokens.
    mutating func forgetUser() {
        identity = nil
        profile = Profile()
        verified = VerifiedFlags()
        claims = nil
        portedFrom = []
    }

    /// Waits for a new request, and forgets what an earlier one brought.
    fileprivate mutating func becomePending(
        request number: Int64, _ token: NotificationToken, sendingUntil end: Timestamp
    ) {
        phase = .pending
        attempt = number
        notification = token.hash
        carrierRequest = nil
        failure = nil
        forgetUser()
        expiresAt = end
        removedAt = max(removedAt, end)
    }
}

extension BackchannelAuthenticationRecord.Terms {
    init(_ request: BackchannelAuthenticationParameters, _ correlationID: CorrelationID) {
        self.init(
            provider: request.provider, clientID: request.clientID.text, network: request.network.text,
            redirectURI: request.redirectURI, scope: request.scopes.joined(separator: " "),
            loginHint: request.loginHint.text, correlationID: correlationID.text)
        acrValues = request.acrValues.isEmpty ? nil : request.acrValues.joined(separator: " ")
        context = request.context
        prompt = Prompt.text(request.prompt)
        options = request.options
    }
}

extension SignInConfiguration.Provider {
    /// The key of ``LoginHint/hash(with:at:)``: the same for all clients and on all instances, and in no database. Nil
    /// if no client can start backchannel authentications.
    var userKey: SymmetricKey? {
        let clients = clients.values.filter { $0.signingKey != nil }
        return clients.min { $0.id.text < $1.id.text }?.signingKey?.derivedKey(for: "users of backchannel requests")
    }
}
