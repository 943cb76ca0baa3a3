import Crypto
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Backchannel authentication: at this server's request, a carrier or another provider asks the user on their phone,
/// without a browser (OpenID Connect CIBA).
///
/// ```swift
/// let started = try await backchannelAuthentication.start(request, for: caller, within: quota, notifiedAt: endpoint)
/// // A carrier asks the user, and posts the outcome to the notification endpoint: `receive`. At another provider,
/// // `poll` asks the token endpoint when it is time.
/// switch try await backchannelAuthentication.poll(started.handle, at: provider, for: caller, givingBackTo: nil) {
/// case .pending: …
/// case .ended(let outcome): …
/// }
/// ```
struct BackchannelAuthentication: Sendable {
    /// The path of the notification endpoint, where carriers post the outcome.
    static let notificationPath = "/auth/zenkey-async-signin/notification"

    let environment: Environment
    let store: SQLStore
    let completion: SignInCompletion
    let limits: BackchannelAuthenticationLimits
    /// How long a client may fetch the outcome again, in seconds.
    let retryWindow: Int64
    let pace: PollPace
    let prompts: Counts<[PromptOutcome: UInt64]>

    /// The most requests to a provider for one handle. Each one asks the user on their phone.
    static let maximumRequests: Int64 = 4
    /// How long at least a client can fetch the outcome after the user has approved, in seconds.
    static let collectionTime: Int64 = 120
    /// How long the outcome of an expired or failed one is kept, in seconds.
    static let retention: Int64 = 600

    var providers: Providers { environment.providers }
    var clock: WallClock { environment.clock }
    var random: RandomSource { environment.random }
    var failures: [FailureObserver] { environment.failures }

    /// Asks the provider to authenticate the user.
    ///
    /// - Parameters:
    ///   - quota: For whom the prompt counts, and how many one user may get.
    ///   - endpoint: This server's URL of ``notificationPath``, for carriers; nil if its public URL is not configured.
    /// - Throws: `invalid_request`, the provider's refusal, `carrier_error`, `carrier_timeout`, `rate_limited`,
    ///   `temporarily_unavailable`.
    func start(
        _ request: BackchannelAuthenticationParameters, for caller: Caller,
        within quota: PromptQuota, notifiedAt endpoint: EndpointURL?
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        let correlationID = request.correlationID ?? .random(from: random)
        var terms = BackchannelAuthenticationRecord.Terms(
            provider: request.provider, clientID: request.clientID, demand: request.demand,
            correlationID: correlationID)
        if case .carrier(let carrier) = request.request { terms.carrier = carrier }
        return try await logged(.start, terms, for: caller, sentNames: request.sentNames) {
            (log) async throws(SignInError) in
            try await begin(terms, request.request, for: caller, quota, endpoint, log)
        }
    }

    /// The status of the sign-in. The first poll after the user's approval starts the session. A poll within the retry
    /// window after that starts another one, for a client that lost the response.
    ///
    /// A provider other than a carrier is asked for the outcome now, if it is time.
    ///
    /// - Parameter allowance: ``PromptQuota/perCaller``, in which the prompt counts no longer once its user has
    ///   approved it.
    /// - Throws: `not_found`; `expired_token`; `invalid_request` if it was cancelled; the provider's refusal;
    ///   `invalid_id_token`; `rate_limited` above one poll a second; `temporarily_unavailable`.
    func poll(
        _ handle: Secret, at provider: String, for caller: Caller, givingBackTo allowance: SharedAllowance?
    ) async throws(SignInError) -> BackchannelAuthenticationProgress {
        let found = try await find(handle, provider, caller)
        guard pace.admits(found.handle) else { throw .polledTooSoon }
        let now = clock.now()
        let step = BackchannelAuthenticationStatus(found, at: now).after(.poll)
        if step == .stays, found.phase == .pending {
            guard found.polling?.isDue(at: now) ?? false else { return .pending }
            return try await fetchTokens(of: found, handle, for: caller, givingBackTo: allowance)
        }
        let outcome = try await logged(.end, found.terms, for: caller) { (log) async throws(SignInError) in
            if case .refused(let status) = step { throw refusal(status, found) }
            let outcome = try await end(found, givingBackTo: allowance, log)
            log.outcome = outcome
            return outcome
        }
        return .ended(outcome)
    }

    /// Asks the carrier again, under the same handle. Notifications of an earlier request no longer count. A provider
    /// other than a carrier is not asked again, because its request is not stored.
    ///
    /// - Throws: As ``start(_:for:within:notifiedAt:)``; `not_found`; `invalid_request` if the user has answered, if
    ///   the sign-in was cancelled or retried too often, or if it is not at a carrier.
    func retry(
        _ handle: Secret, at provider: String, for caller: Caller, within quota: PromptQuota,
        notifiedAt endpoint: EndpointURL?
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        let found = try await find(handle, provider, caller)
        return try await logged(.retry, found.terms, for: caller) { (log) async throws(SignInError) in
            guard found.polling == nil, let carrier = found.terms.carrier else { throw .backchannelNotRepeated }
            try checkRetry(of: found, at: clock.now())
            log.begin(.discovery)
            let context = try await context(of: found.terms, log)
            let message = try context.carrierRequest(notifiedAt: endpoint)
            log.begin(.store)
            let prompt = try prompt(context, quota) { carrier.loginHint.hash(with: $0, at: context.provider.issuer) }
            try check(
                try await mappingStoreErrors(
                    await store.admitBackchannelRequest(of: found, for: prompt, limits: limits, at: clock.now())))
            let token = NotificationToken(Secret(random.token()))
            let record = try await change(found) { (record, now) throws(SignInError) in
                try checkRetry(of: record, at: now)
                record.becomePending(request: record.attempt + 1, token, sendingUntil: sendingDeadline(now))
                return true
            }
            return try await ask(
                context, NewRequest(record: record, prompt: prompt, token: token, handle: handle, message: message),
                log)
        }
    }

    /// Cancels a sign-in. A later notification changes nothing.
    ///
    /// - Throws: `not_found`; `invalid_request` if it is done.
    func cancel(_ handle: Secret, at provider: String, for caller: Caller) async throws(SignInError) {
        let found = try await find(handle, provider, caller)
        try await logged(.cancel, found.terms, for: caller) { (log) async throws(SignInError) in
            log.begin(.store)
            _ = try await change(found) { (record, now) throws(SignInError) in
                switch BackchannelAuthenticationStatus(record, at: now).after(.cancellation) {
                case .becomes(let phase):
                    record.phase = phase
                    record.user = nil
                    return true
                case .stays: return false
                case .refused: throw .backchannelCompleted
                }
            }
        }
    }

    private func begin(
        _ terms: BackchannelAuthenticationRecord.Terms, _ request: BackchannelAuthenticationParameters.Request,
        for caller: Caller, _ quota: PromptQuota, _ endpoint: EndpointURL?, _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        log.begin(.discovery)
        let context = try await context(of: terms, log)
        let message: AuthenticationRequest
        switch (request, context.deliveryMode) {
        case (.carrier, nil): message = try context.carrierRequest(notifiedAt: endpoint)
        case (.provider(let request), let mode?): message = try authenticationRequest(request, to: context, mode)
        default: throw .internalFault
        }
        log.begin(.store)
        let handle = Secret(random.token())
        let token = NotificationToken(Secret(random.token()))
        let now = clock.now()
        // Stored before the request is sent, because a notification may arrive before the response.
        var record = BackchannelAuthenticationRecord(
            handle: TokenHash(sha256Of: handle.exposed), caller: caller.hash, terms: terms,
            notification: token.hash, expiresAt: sendingDeadline(now), removedAt: sendingDeadline(now))
        record.polling = message.deliveryMode.map { TokenPolling($0, at: now) }
        let prompt = try prompt(context, quota) { request.user(with: $0, at: context.provider.issuer) }
        let added = record
        try check(
            try await mappingStoreErrors(
                await store.addBackchannelAuthentication(added, for: prompt, limits: limits, at: now)))
        return try await ask(
            context, NewRequest(record: record, prompt: prompt, token: token, handle: handle, message: message), log)
    }
}

extension BackchannelAuthenticationRecord {
    /// Waits for a new request, and forgets what an earlier one brought.
    fileprivate mutating func becomePending(
        request number: Int64, _ token: NotificationToken, sendingUntil end: Timestamp
    ) {
        phase = .pending
        attempt = number
        notification = token.hash
        carrierRequest = nil
        failure = nil
        user = nil
        expiresAt = end
        removedAt = max(removedAt, end)
    }
}

extension BackchannelAuthenticationParameters.Request {
    /// The hash under which the user is counted.
    fileprivate func user(with key: SymmetricKey, at issuer: String) -> TokenHash {
        switch self {
        case .carrier(let request): request.loginHint.hash(with: key, at: issuer)
        case .provider(let request): request.user.hash(with: key, at: issuer)
        }
    }
}
