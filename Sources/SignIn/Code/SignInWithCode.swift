import Logging
package import OpenIDConnect
import Primitives
import StorageModel

/// Signs a user in with the authorization code that an app got from a carrier or another provider.
///
/// ```swift
/// switch try await signIn(request) {
/// case .signedIn(let signedIn): …  // the session's tokens, for the app
/// case .mustRegister(let offer): …  // a handle, for the registration
/// }
/// ```
package struct SignInWithCode: Sendable {
    let providers: Providers
    let configuration: SignInConfiguration
    let store: any SignInStore & NonceStore & IdentityStore
    let sessions: Sessions
    let idempotency: Idempotency
    let registrationOffers: RegistrationOffers
    let vault: TokenVault
    let claimsVault: ClaimsVault
    let oneTimeStore: EncryptedOneTimeStore
    let clock: WallClock
    let random: RandomSource
    let logger: Logger
    /// For sign-ins that anyone can begin.
    let refusals: LogSamplers
    let observer: SignInObserver
    let operators: OperatorDirectory
    /// Waits between two requests to a mobile operator.
    let pause: PollPauses
    /// Keeps capsules of failures; nil if none are made.
    let capsules: CapsuleRecorder?

    /// Finds or creates the user that a code belongs to, and starts a session.
    ///
    /// A retry of the same request within the retry window gets a new session of the same user. The carrier is not
    /// asked again, even if another instance did the first sign-in: a code is posted once.
    /// - Throws: ``SignInError`` with the code of docs/errors.md for what was wrong: with the request, with the
    ///   carrier's response (naming the check that failed), or with the store.
    package func callAsFunction(_ request: SignInRequest) async throws(SignInError) -> SignInOutcome {
        let correlationID = request.correlationID ?? .random(from: random)
        let anyoneCanBegin = request.isKeyless || request.wasStartedHere
        var log = SignInLog(
            request, correlationID: correlationID, logger: logger, refusals: anyoneCanBegin ? refusals : nil,
            observer: observer)
        do throws(SignInError) {
            return try await capsules.recording { () async throws(SignInError) in
                let attempt = try SignInAttempt(
                    request, correlationID, providers, pause: pause, clock: clock)
                log.found(attempt)
                let outcome = try await signIn(attempt, &log)
                log.write(outcome)
                return outcome
            } failed: { error in
                log.write(error)
                return CapsuleSubject(log)
            }
        } catch {
            throw error.with(correlationID, request.sentNames)
        }
    }

    private func signIn(_ attempt: SignInAttempt, _ log: inout SignInLog) async throws(SignInError) -> SignInOutcome {
        switch try await idempotency.begin(attempt.request, &log) {
        case .proceed(let turn): try await signInOnce(attempt, turn, &log)
        case .replay(let outcome, let turn): try await replay(outcome, attempt, turn, &log)
        }
    }

    /// The first run: redeems the code, then starts the session.
    private func signInOnce(
        _ attempt: SignInAttempt, _ turn: Idempotency.Turn, _ log: inout SignInLog
    ) async throws(SignInError) -> SignInOutcome {
        var turn = turn
        let verified: VerifiedSignIn
        do throws(SignInError) {
            verified = try await redeemCode(attempt, &turn, &log)
        } catch {
            let (outcome, turn) = try await idempotency.finish(turn, error, of: attempt.request, &log)
            return try await replay(outcome, attempt, turn, &log)
        }
        do throws(SignInError) {
            return try await startSession(verified, attempt, turn, &log)
        } catch {
            // The provider has vouched for the user: a retry continues from here.
            idempotency.finish(turn, .verified(verified, isUnknown: false))
            throw error
        }
    }

    /// A retry: starts another session for what the first run brought.
    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    private func replay(
        _ earlier: Idempotency.Outcome, _ attempt: SignInAttempt, _ turn: Idempotency.Turn, _ log: inout SignInLog
    ) async throws(SignInError) -> SignInOutcome {
        switch earlier {
        case .verified(let verified, _): return try await startSession(verified, attempt, turn, &log)
        case .signedIn(let session):
            log.begin(.store)
            let (tokens, isNewUser) = try await sessions.start(
                besides: session, clientID: attempt.client.id.text, on: attempt.request.device)
            return .signedIn(
                SignedIn(
                    tokens: tokens, userID: session.user, isNew: isNewUser, correlationID: attempt.correlationID,
                    isRepeated: true))
        }
    }

    /// Discovery, nonce, token request, ID token validation, and the user's attributes if they are asked for.
    private func redeemCode(
        _ attempt: SignInAttempt, _ turn: inout Idempotency.Turn, _ log: inout SignInLog
    ) async throws(SignInError) -> VerifiedSignIn {
        log.begin(.discovery)
        let provider = try await attempt.discoverProvider()
        // After discovery, so that a failed discovery does not cost the nonce.
        if attempt.usesIssuedNonce, turn.nonceTakenAt == nil {
            log.begin(.attempt)
            try await store.takeIssuedNonce(of: attempt.request, at: clock.now())
            turn.nonceTakenAt = clock.now()
        }
        log.begin(.token)
        let tokens = try await attempt.exchangeCode(at: provider)
        if let mobileOperator = attempt.mobileOperator {
            return try await verifyNumber(attempt, mobileOperator, tokens, provider, &log)
        }
        return try await attempt.verifyUser(tokens, from: provider, &log)
    }

    /// What the operator says of a device. An operator token that gives no number is used, too.
    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    private func verifyNumber(
        _ attempt: SignInAttempt, _ mobileOperator: MobileOperator.Settings, _ tokens: TokenResponse,
        _ provider: ProviderMetadata, _ log: inout SignInLog
    ) async throws(SignInError) -> VerifiedSignIn {
        // Only now, so that texts that no operator accepts take no room in the store.
        let use =
            attempt.request.isOperatorToken
            ? oneTimeStore.use(ofOperatorToken: attempt.request.code, at: attempt.request.provider.text) : nil
        do throws(SignInError) {
            let (number, idToken) = try await askForNumber(attempt, mobileOperator, tokens, provider, &log)
            return VerifiedSignIn(number, idToken, issuer: provider.issuer, use)
        } catch {
            if let use { try await oneTimeStore.spend(use) }
            throw error
        }
    }

    /// The ID token, if the operator issues one, then the number of the device and its SIM. The access token is for the
    /// one call that asks for the number.
    private func askForNumber(
        _ attempt: SignInAttempt, _ mobileOperator: MobileOperator.Settings, _ tokens: TokenResponse,
        _ provider: ProviderMetadata, _ log: inout SignInLog
    ) async throws(SignInError) -> (MSISDN, VerifiedIDToken?) {
        var idToken: VerifiedIDToken?
        if tokens.idToken != nil {
            log.begin(.validate)
            idToken = try await attempt.validate(tokens, from: provider) { log.note($0) }
        }
        log.begin(.number)
        let number = try await attempt.fetchNumber(from: mobileOperator, with: tokens, at: provider)
        if attempt.target.provider.finder != nil { log.begin(.telcoFinder) }
        if let finding = try await operators.check(number, reportedBy: attempt.target, attempt.correlationID) {
            log.checkedOperator(finding)
        }
        log.begin(.simSwap)
        if let finding = try await attempt.checkSIM(of: number, by: mobileOperator, at: provider) {
            log.checkedSIM(finding)
        }
        return (number, idToken)
    }

    /// Finds or creates the user, moves the account of a user who changed carriers, and stores the session: one commit.
    private func startSession(
        _ verified: VerifiedSignIn, _ attempt: SignInAttempt, _ turn: Idempotency.Turn, _ log: inout SignInLog
    ) async throws(SignInError) -> SignInOutcome {
        let migration = AccountMigration(store: store)
        if !verified.portTokens.isEmpty { log.begin(.migrate) }
        let ported = try await migration.formerIdentities(
            of: verified, for: attempt.client.id, attempt.relyingParty
        ) { [log] in log.write($0) }
        log.begin(.store)
        var issued = sessions.issue(for: attempt.client.id.text, on: attempt.request.device)
        if let idToken = verified.idToken { issued.keep(idToken) }
        let ticket = sessions.cache.ticket(at: clock.now())
        var record = SignInRecord(
            identity: verified.identity, profile: verified.userInfo?.attributes, session: issued.record,
            newcomers: configuration.registration.isRequired
                ? .mustRegister : .welcome(publicID: random.token(bytes: 16)),
            portedFrom: ported, requestID: attempt.correlationID.text,
            tokens: verified.tokens.map {
                vault.storing($0, of: attempt.request.provider.text, for: attempt.client.id.text)
            })
        record.verified = verified.userInfo?.verified ?? VerifiedFlags()
        record.claims = verified.userInfo.map { userInfo in
            claimsVault.update(
                with: ClientClaims(userInfo.claims, for: attempt.client.id.text, from: verified.identity.issuer),
                asked: attempt.scopes)
        }
        record.provenPhoneNumber = verified.provenPhoneNumber
        record.operatorTokenUse = verified.operatorTokenUse
        record.providerSession = verified.providerSession
        record.idempotency = turn.record(at: clock.now())
        record.commitDelay = AllowedCommitDelay.nanoseconds(after: log.stepTimes.elapsed)
        let signedIn = try await stored(await store.signIn(record))
        // Nil: the store has created no session. The operator token was used before, or the user must register, has
        // signed out since, or was moved.
        guard let signedIn else {
            if let use = verified.operatorTokenUse { try await oneTimeStore.spend(use) }
            switch try await migration.status(of: verified.identity) {
            case .unknown where configuration.registration.isRequired: break
            case .live: throw .signedOutSince
            default: throw .identityMoved
            }
            let offer = try await offerRegistration(verified, attempt)
            idempotency.finish(turn, .verified(verified, isUnknown: true))
            return .mustRegister(offer)
        }
        if signedIn.wasMoved { log.movedAccount() }
        // The user's other sessions are read again, with the changed profile.
        if signedIn.isChanged { sessions.cache.remove(signedIn.user.id) }
        for holder in signedIn.formerHolders { sessions.cache.remove(holder) }
        sessions.remember(issued, of: signedIn.user, ticket)
        // `given` is the session that the stored record gives to retries, also at other instances.
        idempotency.finish(turn, signedIn.given.map { .signedIn($0) } ?? .verified(verified, isUnknown: false))
        return .signedIn(
            SignedIn(
                tokens: issued.tokens, userID: signedIn.user.id, isNew: signedIn.isNew,
                correlationID: attempt.correlationID))
    }

    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    private func offerRegistration(
        _ verified: VerifiedSignIn, _ attempt: SignInAttempt
    ) async throws(SignInError) -> RegistrationOffer {
        let offer = try await registrationOffers.offer(
            to: verified, clientID: attempt.client.id.text,
            codeChallenge: attempt.request.registrationChallenge, attempt.correlationID, sessions.cache)
        if let waiting = WaitingTokens(verified, of: attempt.request.provider.text) {
            try await oneTimeStore.keep(
                waiting.bytes, for: .waitingTokens, under: offer.handle, seconds: offer.expiresIn)
        }
        return offer
    }
}

extension SignInWithCode {
    /// Redeems a code without signing anyone in, for a user who adds an identity.
    /// - Parameter session: The id of the user's session. A retry in another session is another request.
    func verify(
        _ attempt: SignInAttempt, linkedTo session: String, _ log: inout SignInLog
    ) async throws(SignInError) -> VerifiedSignIn {
        let outcome: Idempotency.Outcome
        switch try await idempotency.begin(attempt.request, linkedTo: session, &log) {
        case .replay(let earlier, _): outcome = earlier
        case .proceed(var turn):
            do throws(SignInError) {
                outcome = .verified(try await redeemCode(attempt, &turn, &log), isUnknown: false)
                idempotency.finish(turn, outcome)
            } catch {
                (outcome, _) = try await idempotency.finish(turn, error, of: attempt.request, &log)
            }
        }
        // A link never ends with a session: its idempotency key differs from that of a sign-in.
        guard case .verified(let verified, _) = outcome else { throw .internalFault }
        if let use = verified.operatorTokenUse { try await oneTimeStore.spend(use) }
        return verified
    }

    /// The chosen mobile operator of a provider.
    /// - Throws: `not_found` if no provider of this name is configured; `unauthorized_client`; `operator_unknown` or
    ///   `invalid_request` if the choice fits no operator; `invalid_request` if the provider has none; what Telco
    ///   Finder's failure is.
    package func mobileOperator(
        of name: String, _ choice: OperatorChoice, _ correlationID: CorrelationID?
    ) async throws(SignInError) -> SignInTarget {
        let target = try await operators.choose(
            at: try providers.find(name), choice, .operatorToken, correlationID ?? .random(from: random))
        guard target.mobileOperator != nil else { throw .noOperatorTokens }
        return target
    }

    /// How many requests wait for an identical one, over all sign-ins.
    package var waitingCount: Int { idempotency.waiterCount }
}

/// For how long the store may delay the commit of a sign-in for other sign-ins that share its flush to disk.
enum AllowedCommitDelay {
    private static let shortestSignIn: UInt64 = 20_000_000
    private static let longest: UInt64 = 5_000_000

    /// A twentieth of the time that the sign-in has taken, mostly for its carrier, and at most 5 ms. A sign-in of less
    /// than 20 ms allows none: a wait in the store would cost more than it saves.
    /// - Parameter elapsed: Nanoseconds since the sign-in began.
    static func nanoseconds(after elapsed: UInt64) -> UInt64 {
        elapsed < shortestSignIn ? 0 : min(elapsed / 20, longest)
    }
}
