import Logging
import OpenIDConnect
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
public struct SignInWithCode: Sendable {
    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let store: any Store
    let sessions: Sessions
    let recentSignIns: RecentSignIns
    let earlierSignIns: EarlierSignIns
    let desk: RegistrationOffers
    let vault: TokenVault
    let notes: EncryptedOneTimeStore
    let clock: WallClock
    let random: RandomSource
    let logger: Logger
    let observer: SignInObserver

    /// Finds the user a code belongs to and gives them a session.
    ///
    /// The very same request sent again within the retry window gets a new session of the same user without asking the
    /// carrier again, whichever process did the first: a code is posted once.
    /// - Throws: ``SignInError`` with the code of contract section 1 for what was wrong: of the request, of what the carrier
    ///   answered (with the check that failed), or with the store.
    public func callAsFunction(_ request: SignInRequest) async throws(SignInError) -> SignInOutcome {
        let correlationID = request.correlationID ?? .random(from: random)
        var log = SignInLog(request, correlationID: correlationID, logger: logger, observer: observer)
        do throws(SignInError) {
            let outcome = try await signIn(request, correlationID, &log)
            log.write(outcome)
            return outcome
        } catch {
            log.write(error)
            throw error.with(correlationID)
        }
    }

    /// - Throws: `not_found` if no provider of this name is configured.
    public func kind(ofProvider name: String) throws(SignInError) -> SignInConfiguration.Provider.Kind {
        guard let provider = configuration.providers[name] else { throw .unknownProvider }
        return provider.kind
    }

    /// How many callers wait for somebody else's sign-in, because theirs is the same.
    package var waitingCount: Int { recentSignIns.waiterCount }

    private func signIn(
        _ request: SignInRequest, _ correlationID: CorrelationID, _ log: inout SignInLog
    ) async throws(SignInError) -> SignInOutcome {
        let attempt = try SignInAtCarrier(request, correlationID, configuration, relyingParties)
        log.foundProvider()
        let fingerprint = IdempotencyKey(request)
        switch await recentSignIns.begin(fingerprint, at: clock.now()) {
        case .lead(let nonceWasTaken):
            if let result = try await findEarlier(attempt, fingerprint, &log) {
                return try await answerAgain(result, attempt, fingerprint, &log)
            }
            return try await lead(attempt, fingerprint, nonceWasTaken: nonceWasTaken, &log)
        case .done(let result):
            log.foundEarlierOne()
            return try await answerAgain(result, attempt, fingerprint, &log)
        case .failed(let error):
            log.foundEarlierOne()
            throw error
        }
    }

    /// Does a sign-in that nobody else is doing, and leaves word of how it ended.
    private func lead(
        _ attempt: SignInAtCarrier, _ fingerprint: IdempotencyKey, nonceWasTaken: Bool, _ log: inout SignInLog
    ) async throws(SignInError) -> SignInOutcome {
        let verified: VerifiedSignIn
        do throws(SignInError) {
            verified = try await verify(attempt, fingerprint, nonceWasTaken: nonceWasTaken, &log)
        } catch {
            let result = try await findEarlier(fingerprint, after: error, &log)
            return try await answerAgain(result, attempt, fingerprint, &log)
        }
        do throws(SignInError) {
            let (outcome, result) = try await admit(verified, attempt, fingerprint, &log)
            recentSignIns.end(fingerprint, .result(result), at: clock.now())
            return outcome
        } catch {
            // The carrier has said yes: the same request sent again goes on from here.
            recentSignIns.end(fingerprint, .result(.verified(verified, isUnknown: false)), at: clock.now())
            throw error
        }
    }

    /// Asks the carrier: discovery, token request, ID token, and the user's attributes where they are wanted.
    func verify(
        _ attempt: SignInAtCarrier, _ fingerprint: IdempotencyKey, nonceWasTaken: Bool, _ log: inout SignInLog
    ) async throws(SignInError) -> VerifiedSignIn {
        log.begin(.discovery)
        let carrier = try await attempt.findCarrier()
        if attempt.client.nonce == .issued, !nonceWasTaken, !attempt.request.wasStartedHere {
            // Only now, so that a failed discovery does not cost the nonce.
            log.begin(.attempt)
            try await store.takeIssuedNonce(of: attempt.request, at: clock.now())
            recentSignIns.noteNonceTaken(fingerprint, at: clock.now())
        }
        log.begin(.token)
        let tokens = try await attempt.exchangeCode(at: carrier)
        let kept = attempt.storesTokens ? ProviderTokens(tokens, at: clock.now()) : nil
        guard carrier.userEndpoint == nil else {
            log.begin(.userinfo)
            return VerifiedSignIn(try await attempt.fetchUser(with: tokens, from: carrier), kept)
        }
        log.begin(.validate)
        let idToken = try await attempt.validate(tokens, from: carrier) { log.note($0) }
        guard attempt.wantsAttributes else { return VerifiedSignIn(idToken, nil, kept) }
        log.begin(.userinfo)
        let userInfo = try await attempt.fetchAttributes(about: idToken, with: tokens, from: carrier)
        return VerifiedSignIn(idToken, userInfo, kept)
    }

    /// Finds or makes the user, and stores the session. Also says what to remember of that.
    /// - Parameter wasUnknown: Whether the very same sign-in came before, when there was no such user.
    private func admit(
        _ verified: VerifiedSignIn, wasUnknown: Bool = false, _ attempt: SignInAtCarrier,
        _ fingerprint: IdempotencyKey, _ log: inout SignInLog
    ) async throws(SignInError) -> (SignInOutcome, RecentSignIns.Result) {
        let migration = AccountMigration(store: store)
        if !verified.portTokens.isEmpty { log.begin(.migrate) }
        let ported = try await migration.formerIdentities(
            of: verified, for: attempt.client.id, attempt.relyingParty
        ) { [log] in log.write($0) }
        log.begin(.store)
        let issued = try sessions.issue(for: attempt.client.id.text, on: attempt.request.device)
        let ticket = sessions.cache.ticket(at: clock.now())
        var record = SignInRecord(
            identity: verified.identity, profile: verified.profile, session: issued.record,
            newcomers: configuration.registration.isRequired
                ? .mustRegister : .welcome(publicID: random.token(bytes: 16)),
            portedFrom: ported, requestID: attempt.correlationID.text,
            tokens: verified.tokens.map {
                vault.storing($0, of: attempt.request.provider, for: attempt.client.id.text)
            })
        record.providerSession = verified.providerSession
        record.mark = earlierSignIns.mark(fingerprint, ofUnknown: wasUnknown)
        let signedIn = try await storing { [record] () async throws(StorageError) in try await store.signIn(record) }
        guard let signedIn else {
            switch try await migration.status(of: verified.identity) {
            case .unknown where configuration.registration.isRequired:
                let offer = try await offerRegistration(verified, attempt)
                return (.mustRegister(offer), .verified(verified, isUnknown: true))
            case .live: throw .signedOutSince
            default: throw .identityMoved
            }
        }
        if signedIn.wasMoved { log.movedAccount() }
        sessions.remember(issued, of: signedIn.user, ticket)
        let outcome = SignInOutcome.signedIn(
            SignedIn(
                tokens: issued.tokens, userID: signedIn.user.id, isNew: signedIn.isNew,
                correlationID: attempt.correlationID))
        return (outcome, signedIn.given.map { .signedIn($0) } ?? .verified(verified, isUnknown: false))
    }

    /// Answers a request that was sent before from what became of it.
    private func answerAgain(
        _ result: RecentSignIns.Result, _ attempt: SignInAtCarrier, _ fingerprint: IdempotencyKey,
        _ log: inout SignInLog
    ) async throws(SignInError) -> SignInOutcome {
        switch result {
        case .refused(let error):
            let later = try await findEarlier(fingerprint, refused: error, &log)
            return try await answerAgain(later, attempt, fingerprint, &log)
        case .verified(let verified, let wasUnknown):
            // Who registered with the first answer, and signed out since, meant whoever else holds this request, too.
            if case .live(let user) = try await AccountMigration(store: store).status(of: verified.identity),
                recentSignIns.wasSignedOut(user, since: fingerprint, at: clock.now())
            {
                throw .signedOutSince
            }
            let (outcome, result) = try await admit(
                verified, wasUnknown: wasUnknown, attempt, fingerprint, &log)
            recentSignIns.keep(result, for: fingerprint, at: clock.now())
            return outcome
        case .signedIn(let session):
            log.begin(.store)
            let tokens = try await sessions.start(
                besides: session, clientID: attempt.client.id.text, on: attempt.request.device)
            return .signedIn(
                SignedIn(tokens: tokens, userID: session.user, isNew: false, correlationID: attempt.correlationID))
        }
    }

    private func offerRegistration(
        _ verified: VerifiedSignIn, _ attempt: SignInAtCarrier
    ) async throws(SignInError) -> RegistrationOffer {
        let offer = try await desk.offer(
            to: verified.identity, verified.profile, clientID: attempt.client.id.text,
            codeChallenge: attempt.request.registrationChallenge, providerSession: verified.providerSession,
            attempt.correlationID)
        if let tokens = verified.tokens {
            let waiting = WaitingTokens(tokens: tokens, provider: attempt.request.provider)
            try await notes.keep(waiting.bytes, for: .waitingTokens, under: offer.handle, seconds: offer.expiresIn)
        }
        return offer
    }
}
