import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// What carriers and other providers are sent.
extension BackchannelAuthentication {
    /// Sends a request, and records the id that the provider gives it.
    /// - Parameters:
    ///   - record: As it is stored, with the latest request, which is not yet sent.
    ///   - token: For the notification of it.
    func ask(
        _ context: BackchannelAuthenticationContext, _ asked: BackchannelAuthenticationRecord,
        _ prompt: BackchannelPrompt, under handle: Secret, _ token: NotificationToken,
        _ send: BackchannelAuthenticationContext.Sending
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        context.log.begin(.request)
        let response: BackchannelAuthenticationResponse
        do throws(OIDCError) {
            response = try await send(token)
        } catch {
            context.log.begin(.store)
            count(error.isRefusal ? .refused : .failed)
            let refusal = SignInError.backchannelNotStarted(error)
            await giveUp(asked, refusal)
            // If the store fails here, the prompt still counts. That only makes the limit stricter.
            if error.showsNoPrompt { try? await store.takeBack(prompt) }
            throw refusal
        }
        count(.accepted)
        context.log.begin(.store)
        let id = TokenHash(sha256Of: response.requestID.exposed)
        var contradicts = false
        _ = try await change(asked) { (record, now) throws(SignInError) in
            guard record.notification == asked.notification else { return false }
            // The notification came before the response.
            if let known = record.carrierRequest, known != id {
                contradicts = true
                record.phase = .failed
                record.failure = .contradiction
                record.user = nil
                return true
            }
            record.carrierRequest = id
            record.polling?.accept(response, underHandle: handle, at: now)
            if record.phase == .pending { record.expiresAt = now.advanced(bySeconds: response.expiresIn) }
            record.removedAt = max(
                record.removedAt,
                now.advanced(bySeconds: response.expiresIn + Self.retention))
            return true
        }
        if contradicts { throw BackchannelAuthenticationFailure.contradiction.error }
        return BackchannelAuthenticationStarted(
            handle: handle, expiresIn: response.expiresIn, interval: asked.polling.map { _ in response.interval },
            correlationID: context.correlationID)
    }

    /// Records that a request failed. The record of a first request is removed, because its client never learns the
    /// handle. If the store fails, the record expires within a minute.
    private func giveUp(_ asked: BackchannelAuthenticationRecord, _ error: SignInError) async {
        _ = try? await change(asked) { (record, now) throws(SignInError) in
            guard record.notification == asked.notification else { return false }
            record.phase = .failed
            record.failure = .request(error)
            record.user = nil
            record.removedAt =
                record.attempt == 1
                ? now
                : max(record.removedAt, now.advanced(bySeconds: Self.retention))
            return true
        }
    }
}

extension SignInError {
    /// The request to authenticate the user failed.
    static func backchannelNotStarted(_ error: OIDCError) -> SignInError {
        guard error.isRefusal, !error.wasRefusedLocally else { return SignInError(error) }
        return .refusedBackchannel(error.carrierError ?? "unknown_error").explained(by: error)
    }
}

extension OIDCError {
    /// Whether the provider refused a request.
    var isRefusal: Bool { code == .carrierRefused || code == .clientRefused }

    /// Whether this server sent nothing, because the provider's metadata does not allow the client's request.
    fileprivate var wasRefusedLocally: Bool { code == .clientRefused && carrierError == nil }

    /// Whether it is certain that the user was not prompted: the provider got no request because its circuit breaker is
    /// open, or it refused the request itself. After any other failure the user may have been.
    fileprivate var showsNoPrompt: Bool {
        guard isRefusal, let carrierError else { return code == .suspended || wasRefusedLocally }
        // A caller that guesses user codes must not have as many guesses as it likes.
        if carrierError == "invalid_user_code" { return false }
        return switch ErrorType(carrierError: carrierError) {
        case .configurationError, .discoveryStateError, .invalidRequest: true
        // The other codes of this type are the user's answer.
        case .requestDenied: carrierError == "device_unavailable"
        case .networkFailure, .requestTimeout, .serverError, .unknownError: false
        }
    }
}

/// The records of sign-ins: found for their callers, changed without losing another request's change, and logged.
extension BackchannelAuthentication {
    /// - Parameter user: Of a provider other than a carrier.
    func prompt(
        _ context: BackchannelAuthenticationContext, _ quota: PromptQuota, _ user: UserHint? = nil
    ) throws(SignInError) -> BackchannelPrompt {
        guard let key = context.target.provider.userKey else { throw .clientHasNoKey }
        let issuer = context.provider.issuer
        let hash =
            context.terms.carrier?.loginHint.hash(with: key, at: issuer) ?? user?.hash(with: key, at: issuer)
        guard let hash else { throw .internalFault }
        var quota = quota
        // A carrier's hints are numbers, of which all spellings are one user.
        if context.deliveryMode == nil { quota.perCaller = nil }
        return BackchannelPrompt(user: hash, quota: quota)
    }

    func check(_ refusal: PromptRefusal?) throws(SignInError) {
        guard let refusal else { return }
        count(refusal.outcome)
        throw refusal.error
    }

    func count(_ outcome: PromptOutcome) { feature.prompts.note { $0[outcome, default: 0] += 1 } }

    /// How long a record waits for the provider's response to its request.
    func sendingDeadline(_ now: Timestamp) -> Timestamp { now.advanced(bySeconds: 60) }

    /// Finds the sign-in of a handle, if it is at the provider and belongs to the caller.
    func find(
        _ handle: Secret, _ provider: String, _ caller: Caller
    ) async throws(SignInError) -> BackchannelAuthenticationRecord {
        guard handle.exposed.utf8.count == RandomSource.tokenCharacters else { throw .backchannelUnknown }
        let record = try await record(of: TokenHash(sha256Of: handle.exposed))
        // Unknown for another caller, so that guesses learn nothing.
        guard record.caller == caller.hash, record.terms.provider == provider else { throw .backchannelUnknown }
        return record
    }

    func checkRetry(of record: BackchannelAuthenticationRecord, at now: Timestamp) throws(SignInError) {
        _ = try record.phase(after: .retry, at: now)
        guard record.attempt < Self.maximumRequests else { throw .backchannelTriedTooOften }
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
            let isReplaced = try await mappingStoreErrors(await store.replaceBackchannelAuthentication(replacement))
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
        let record = try await mappingStoreErrors(await store.backchannelAuthentication(handle: handle, at: now))
        guard let record else { throw .backchannelUnknown }
        return record
    }

    /// Runs a step and writes its log line, and tells the observer of a failure. An error gets the sign-in's
    /// correlation id.
    /// - Parameters:
    ///   - caller: Who asks for the step; nil for a provider that was recognised.
    ///   - sentNames: As ``BackchannelAuthenticationParameters/sentNames``.
    func logged<Value>(
        _ step: BackchannelAuthenticationLog.Step, _ terms: BackchannelAuthenticationRecord.Terms,
        for caller: Caller? = nil, sentNames: [String: String] = [:],
        _ body: (BackchannelAuthenticationLog) async throws(SignInError) -> Value
    ) async throws(SignInError) -> Value {
        let log = BackchannelAuthenticationLog(
            step, terms, isKeyless: caller?.isKeyless ?? false, in: environment)
        return try await failures.recording(as: terms.correlationID, sentNames) {
            () async throws(SignInError) in
            let value = try await body(log)
            log.writeSuccess()
            return value
        } failed: { error in
            write(error, terms, log)
            return log.isReported(error) ? failedOperation(of: terms, log) : nil
        }
    }

    private func write(
        _ error: SignInError, _ terms: BackchannelAuthenticationRecord.Terms, _ log: BackchannelAuthenticationLog
    ) {
        // What the provider notified of earlier came without a request of this server's.
        let isOfProvider = error.carrierError != nil || error.check != nil
        let relyingParty = isOfProvider ? providers[terms.provider]?.server?.relyingParty : nil
        let metadata = relyingParty?.knownProvider(for: terms.network)
        log.write(
            error.at(
                metadata?.serverInitiatedAuthorizationEndpoint ?? metadata?.backchannelAuthentication?.endpoint))
    }

    func failedOperation(
        of terms: BackchannelAuthenticationRecord.Terms, _ log: BackchannelAuthenticationLog
    ) -> FailedOperation {
        let target = try? providers.find(ProviderReference(text: terms.provider))
        let demand = target?.completed(terms.demand, of: terms.clientID) ?? terms.demand
        return FailedOperation(
            flow: .backchannelAuthentication, correlationID: terms.correlationID.text, provider: terms.provider,
            client: target?.server.clients[terms.clientID],
            relyingParty: target?.relyingParty, network: terms.network, times: log.times,
            requested: [
                ("operation", .name(log.step.rawValue)),
                (
                    "delivery_mode",
                    target?.provider.openID?.backchannelTokenDelivery.mode.map { .name($0.rawValue) }
                ),
                ("redirect_uri", terms.carrier.map { .text($0.redirectURI) }),
            ] + demand.failureMembers + [
                ("prompt", demand.prompt.isEmpty ? nil : .words(demand.prompt.map(\.rawValue))),
                ("max_age", demand.maximumAge.map { .number($0) }),
                ("login_hint", terms.carrier.map { .secret($0.loginHint.text) }),
                ("notification", log.notification.isEmpty ? nil : .members(log.notification)),
            ], origin: log.isKeyless ? .keyless : .known)
    }
}
