import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Backchannel authentication: at this server's request, a carrier or another provider asks the user on their phone,
/// without a browser (OpenID Connect CIBA). A carrier posts the outcome to the notification endpoint; at another
/// provider, ``poll(_:at:for:givingBackTo:)`` asks the token endpoint when it is time.
struct BackchannelAuthentication: Sendable {
    /// The path of the notification endpoint, where carriers post the outcome.
    static let notificationPath = "/auth/zenkey-async-signin/notification"

    let feature: BackchannelFeature
    let completion: SignInCompletion

    /// The most requests to a provider for one handle. Each one asks the user on their phone.
    static let maximumRequests: Int64 = 4
    /// How long at least a client can fetch the outcome after the user has approved, in seconds.
    static let collectionTime: Int64 = 120
    /// How long the outcome of an expired or failed one is kept, in seconds.
    static let retention: Int64 = 600

    var environment: Environment { completion.environment }
    var store: SQLStore { feature.store }
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
        try await logged(.start, request.terms, for: caller, sentNames: request.sentNames) {
            (log) async throws(SignInError) in
            log.begin(.discovery)
            let context = try await context(of: request.terms, log)
            let send: BackchannelAuthenticationContext.Sending
            switch (request.ofProvider, context.deliveryMode) {
            case (nil, nil): send = try context.carrierRequest(notifiedAt: endpoint)
            case (let (_, message)?, let mode?): send = try context.providerRequest(message, mode)
            default: throw .internalFault
            }
            log.begin(.store)
            let handle = Secret(random.token())
            let token = NotificationToken(Secret(random.token()))
            let now = clock.now()
            // Stored before the request is sent, because a notification may arrive before the response.
            let record = BackchannelAuthenticationRecord(
                handle: TokenHash(sha256Of: handle.exposed), caller: caller.hash, terms: request.terms,
                notification: token.hash, polling: context.deliveryMode.map { TokenPolling($0, at: now) },
                expiresAt: sendingDeadline(now), removedAt: sendingDeadline(now))
            let prompt = try prompt(context, quota, request.ofProvider?.user)
            try check(
                try await mappingStoreErrors(
                    await store.addBackchannelAuthentication(record, for: prompt, limits: feature.settings, at: now)))
            return try await ask(context, record, prompt, under: handle, token, send)
        }
    }

    /// The outcome of the sign-in; nil before the user has answered. The first poll after the approval starts the
    /// session. A poll within the retry window after that starts another one, for a client that lost the response.
    ///
    /// A provider other than a carrier is asked for the outcome now, if it is time.
    ///
    /// - Parameter allowance: ``PromptQuota/perCaller``, in which the prompt counts no longer once its user has
    ///   approved it.
    /// - Throws: `not_found`; `expired_token`; `invalid_request` if it was cancelled; the provider's refusal;
    ///   `invalid_id_token`; `rate_limited` above one poll a second; `temporarily_unavailable`.
    func poll(
        _ handle: Secret, at provider: String, for caller: Caller, givingBackTo allowance: SharedAllowance?
    ) async throws(SignInError) -> SignInOutcome? {
        let found = try await find(handle, provider, caller)
        guard feature.pace.admits(found.handle) else { throw .polledTooSoon }
        let now = clock.now()
        if found.phase(at: now) == .pending {
            guard found.polling?.isDue(at: now) ?? false else { return nil }
            return try await fetchTokens(of: found, handle, for: caller, givingBackTo: allowance)
        }
        return try await logged(.end, found.terms, for: caller) { (log) async throws(SignInError) in
            _ = try found.phase(after: .poll, at: now)
            return try await end(found, givingBackTo: allowance, log)
        }
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
            guard found.polling == nil, found.terms.carrier != nil else { throw .backchannelNotRepeated }
            try checkRetry(of: found, at: clock.now())
            log.begin(.discovery)
            let context = try await context(of: found.terms, log)
            let send = try context.carrierRequest(notifiedAt: endpoint)
            log.begin(.store)
            let prompt = try prompt(context, quota)
            try check(
                try await mappingStoreErrors(
                    await store.admitBackchannelRequest(
                        of: found, for: prompt, limits: feature.settings, at: clock.now())))
            let token = NotificationToken(Secret(random.token()))
            let record = try await change(found) { (record, now) throws(SignInError) in
                try checkRetry(of: record, at: now)
                record.becomePending(request: record.attempt + 1, token, sendingUntil: sendingDeadline(now))
                return true
            }
            return try await ask(context, record, prompt, under: handle, token, send)
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
                guard let phase = try record.phase(after: .cancellation, at: now) else { return false }
                record.phase = phase
                record.user = nil
                return true
            }
        }
    }
}

/// A sign-in that a client wants this server to start, without a browser.
struct BackchannelAuthenticationParameters: Sendable {
    let terms: BackchannelAuthenticationRecord.Terms
    /// Whom a provider other than a carrier is asked about, and how (CIBA Core section 7.1); nil for a carrier.
    var ofProvider: (user: UserHint, message: BackchannelAuthenticationRequest)?
    /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
    let sentNames: [String: String]
}

/// A backchannel authentication that a provider has accepted.
struct BackchannelAuthenticationStarted: Sendable {
    /// Identifies the sign-in for the client that started it (`auth_req_id`).
    let handle: Secret
    /// Seconds within which the user may approve.
    let expiresIn: Int64
    /// Seconds between two polls that can bring something new; nil if the outcome may come at any moment.
    let interval: Int64?
    let correlationID: CorrelationID
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
