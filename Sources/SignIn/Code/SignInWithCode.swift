import OpenIDConnect
import Primitives
import StorageModel

/// Signs a user in with the authorization code that an app got from a provider.
///
/// ```swift
/// switch try await signIn(request) {
/// case .signedIn(let signedIn): …  // the session's tokens, for the app
/// case .mustRegister(let offer): …  // a handle, for the registration
/// }
/// ```
package struct SignInWithCode: UseCase {
    let environment: Environment
    let store: any SignInStore & OneTimeRecordStore
    let idempotency: Idempotency
    let completion: SignInCompletion
    let oneTimeStore: EncryptedOneTimeStore

    /// Finds or creates the user that a code belongs to, and starts a session.
    ///
    /// A retry of the same request within the retry window gets a new session of the same user. The provider is not
    /// asked again, even if another instance did the first sign-in: a code is posted once.
    /// - Throws: ``SignInError`` with the code of docs/errors.md for what was wrong: with the request, with the
    ///   provider's response (naming the check that failed), or with the store.
    package func callAsFunction(_ request: SignInRequest) async throws(SignInError) -> SignInOutcome {
        try await environment.perform(request, as: .signIn) { (run) async throws(SignInError) in
            let outcome =
                switch try await idempotency.begin(run) {
                case .proceed(let turn): try await signInOnce(run, turn)
                case .replay(let outcome, let turn): try await replay(outcome, run, turn)
                }
            return (outcome, SignInReport.Outcome(outcome))
        }
    }

    /// The first run: redeems the code, then starts the session.
    private func signInOnce(_ run: SignInRun, _ turn: Idempotency.Turn) async throws(SignInError) -> SignInOutcome {
        var turn = turn
        let verified: VerifiedSignIn
        do throws(SignInError) {
            verified = try await verifyAtProvider(run, &turn)
        } catch {
            let (outcome, turn) = try await idempotency.finish(turn, error, of: run)
            return try await replay(outcome, run, turn)
        }
        do throws(SignInError) {
            return try await startSession(verified, run, turn)
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
        _ earlier: Idempotency.Outcome, _ run: SignInRun, _ turn: Idempotency.Turn
    ) async throws(SignInError) -> SignInOutcome {
        switch earlier {
        case .verified(let verified, _): return try await startSession(verified, run, turn)
        case .signedIn(let session):
            run.begin(.store)
            let (tokens, isNewUser) = try await completion.sessions.start(
                besides: session, clientID: run.client.id.text, on: run.request.device)
            return .signedIn(
                SignedIn(
                    tokens: tokens, userID: session.user, isNew: isNewUser, correlationID: run.correlationID,
                    isRepeated: true))
        }
    }

    /// Discovery, nonce, token request, ID token validation, and the user's attributes if they are asked for.
    private func verifyAtProvider(
        _ run: SignInRun, _ turn: inout Idempotency.Turn
    ) async throws(SignInError) -> VerifiedSignIn {
        let provider = try await run.discoverProvider()
        // After discovery, so that a failed discovery does not cost the nonce.
        if run.usesIssuedNonce, turn.nonceTakenAt == nil {
            run.begin(.attempt)
            try await store.takeIssuedNonce(of: run.request, at: clock.now())
            turn.nonceTakenAt = clock.now()
        }
        if let group = run.target.provider.group { return try await group.verifyUser(of: run, at: provider) }
        return try await run.verifyUser(try await run.exchangeCode(at: provider), from: provider)
    }

    /// Finds or creates the user, moves the account of a user who changed carriers, and stores the session: one commit.
    private func startSession(
        _ verified: VerifiedSignIn, _ run: SignInRun, _ turn: Idempotency.Turn
    ) async throws(SignInError) -> SignInOutcome {
        let ported = try await completion.formerIdentities(of: verified, in: run)
        run.begin(.store)
        let (started, record) = completion.begin(
            verified, of: run.request.provider.text, for: run.client.id.text, on: run.request.device,
            asking: run.scopes, run.correlationID
        ) { record in
            record.portedFrom = ported
            record.idempotency = turn.record(at: clock.now())
            record.commitDelay = AllowedCommitDelay.nanoseconds(after: run.log.times.elapsed)
        }
        let signedIn = try await mappingStoreErrors(await store.signIn(record))
        // Nil: the store has created no session. The token in place of a code was used before, or the user must
        // register, has signed out since, or was moved.
        guard let signedIn else {
            if let use = verified.tokenUse { try await oneTimeStore.spend(use) }
            switch try await completion.store.status(of: verified.identity) {
            case .unknown where completion.mustRegister: break
            case .live: throw .signedOutSince
            default: throw .identityMoved
            }
            let offer = try await completion.offer(
                to: verified, of: run.request.provider.text, for: run.client.id.text, run.correlationID,
                codeChallenge: run.request.registrationChallenge)
            idempotency.finish(turn, .verified(verified, isUnknown: true))
            return .mustRegister(offer)
        }
        run.log.hasMoved = signedIn.wasMoved
        let ended = completion.end(started, by: signedIn, run.correlationID)
        // `given` is the session that the stored record gives to retries, also at other instances.
        idempotency.finish(turn, signedIn.given.map { .signedIn($0) } ?? .verified(verified, isUnknown: false))
        return .signedIn(ended)
    }
}

extension SignInWithCode {
    /// Redeems a code without signing anyone in, for a feature's use case of a signed-in user.
    /// - Parameter session: The id of the user's session. A retry in another session is another request.
    package func verify(_ run: SignInRun, ofSession session: String) async throws(SignInError) -> VerifiedSignIn {
        let outcome: Idempotency.Outcome
        switch try await idempotency.begin(run, ofSession: session) {
        case .replay(let earlier, _): outcome = earlier
        case .proceed(var turn):
            do throws(SignInError) {
                outcome = .verified(try await verifyAtProvider(run, &turn), isUnknown: false)
                idempotency.finish(turn, outcome)
            } catch {
                (outcome, _) = try await idempotency.finish(turn, error, of: run)
            }
        }
        // It never ends with a session: its idempotency key differs from a sign-in's.
        guard case .verified(let verified, _) = outcome else { throw .internalFault }
        if let use = verified.tokenUse { try await oneTimeStore.spend(use) }
        return verified
    }

    /// How many requests wait for an identical one, over all sign-ins.
    package var waitingCount: Int { idempotency.waiterCount }
}

/// For how long the store may delay the commit of a sign-in for other sign-ins that share its flush to disk.
enum AllowedCommitDelay {
    private static let shortestSignIn: UInt64 = 20_000_000
    private static let longest: UInt64 = 5_000_000

    /// A twentieth of the time that the sign-in has taken, mostly for its provider, and at most 5 ms. A sign-in of less
    /// than 20 ms allows none: a wait in the store would cost more than it saves.
    /// - Parameter elapsed: Nanoseconds since the sign-in began.
    static func nanoseconds(after elapsed: UInt64) -> UInt64 {
        elapsed < shortestSignIn ? 0 : min(elapsed / 20, longest)
    }
}
