import Primitives
import StorageModel
import Synchronization

/// Makes a code that is sent again cost no second token request: an app that lost the response repeats the same
/// request, and its code is spent by then.
///
/// ``begin(_:ofSession:)`` says whether to redeem the code or to repeat an earlier outcome; `finish` records the
/// outcome. What this process did is in memory; what it did before a restart, it reads from the store at its first
/// sign-in. What another instance did is looked up in the store. All is forgotten after the retry window
/// (``SignInConfiguration/Lifetimes/retryWindow``).
///
/// A request without a code verifier has no retry, because anyone who has read its code could send the same request.
/// Once its code may be spent, the same request is refused, and the code is not posted again.
struct Idempotency: Sendable {
    /// What a code brought, as far as a retry depends on it.
    enum Outcome: Sendable {
        case signedIn(GivenSession)
        /// The provider vouched for the user, but there is no session: the user has not registered (`isUnknown`), or
        /// the store failed.
        case verified(VerifiedSignIn, isUnknown: Bool)
    }

    struct Turn: Sendable {
        fileprivate let key: IdempotencyKey
        fileprivate let window: Int64
        /// Whether a retry gets the outcome: only the app that began the sign-in has the code verifier.
        fileprivate let isRepeatable: Bool
        /// Whether the store records the outcome, too. A code for a signed-in user leaves no session to find there.
        fileprivate let isStored: Bool
        fileprivate var isReplay = false
        /// Whether an earlier run had no such user. Its user may have registered and signed out since.
        fileprivate var userWasUnknown = false
        /// When this run, or an earlier one that got no further, took the issued nonce.
        var nonceTakenAt: Timestamp?

        /// Identifies the sign-in in the store; nil if it has no retry. One second longer than in memory, so that no
        /// retry falls between the two.
        func record(at now: Timestamp) -> IdempotencyRecord? {
            guard isRepeatable else { return nil }
            return IdempotencyRecord(
                key: key.bytes, endsAt: now.advanced(bySeconds: window + 1), endings: userWasUnknown ? 0 : nil)
        }
    }

    enum Start: Sendable {
        /// Redeem the code, and call `finish` in any case.
        case proceed(Turn)
        case replay(Outcome, Turn)
    }

    private let store: any SignInStore & IdentityStore
    private let clock: WallClock
    private let window: Int64
    private let startedAt: Timestamp
    private let table: IdempotencyTable
    /// Reads what was done before the start.
    private let reading = SingleFlight<Bool, SignInError?>()
    private let hasRead: SharedFlag

    /// - Parameter window: How long after it a sign-in may be sent again, in seconds.
    init(store: any SignInStore & IdentityStore, clock: WallClock, window: Int64) {
        self.store = store
        self.clock = clock
        self.window = window
        startedAt = clock.now()
        table = IdempotencyTable(window: window)
        hasRead = SharedFlag(store.isShared)
    }

    /// Starts a run, after any run of the same request that is under way.
    /// - Parameter session: The session whose user the code is for; nil for a sign-in.
    /// - Throws: The error of the earlier run; `invalid_grant` if a session of the user was ended since, or after too
    ///   many retries; `temporarily_unavailable`, and then nothing was posted.
    func begin(_ run: SignInRun, ofSession session: String? = nil) async throws(SignInError) -> Start {
        if !hasRead.isSet { try await readEarlier(run) }
        // Only the browser that brought a code can bring it again.
        let isRepeatable = run.request.codeVerifier != nil || run.request.isRedirectFlow
        var turn = Turn(
            key: IdempotencyKey(run.request, ofSession: session), window: window, isRepeatable: isRepeatable,
            isStored: session == nil && isRepeatable)
        switch await table.begin(turn.key, at: clock.now()) {
        case .lead(let nonceTakenAt):
            turn.nonceTakenAt = nonceTakenAt
            let recalled: Result<Outcome, SignInError>?
            do throws(SignInError) {
                // The browser's `state` is good once, so that a code is either new or known to be brought again.
                let mayBeKnown = !run.request.isRedirectFlow || run.request.isBroughtAgain
                recalled = turn.isStored && store.isShared && mayBeKnown ? try await recall(turn, run) : nil
                if recalled == nil, run.request.isBroughtAgain { throw .broughtAgain }
            } catch {
                end(turn, error)
                throw error
            }
            guard let recalled else { return .proceed(turn) }
            turn.isReplay = true
            return .replay(try recalled.get(), turn)
        case .done(let result):
            run.log.wasSentBefore = true
            turn.isReplay = true
            if case .success(.verified(_, isUnknown: true)) = result { turn.userWasUnknown = true }
            return .replay(try await stillValid(result, run, turn), turn)
        }
    }

    /// Records what a run brought, and lets the retries that wait for it go on.
    func finish(_ turn: Turn?, _ outcome: Outcome) {
        guard let turn else { return }
        if !turn.isRepeatable {
            table.end(turn.key, .failure(.sentAgainWithoutVerifier), nonceTakenAt: turn.nonceTakenAt, at: clock.now())
        } else if turn.isReplay {
            table.keep(outcome, for: turn.key, at: clock.now())
        } else {
            table.end(turn.key, .success(outcome), nonceTakenAt: turn.nonceTakenAt, at: clock.now())
        }
    }

    /// Records that a run failed. If it failed because the code or the nonce was used, another instance may have done
    /// the same sign-in meanwhile, for an app that sent it twice.
    /// - Returns: The outcome at the other instance.
    /// - Throws: The failure, if there is none; `temporarily_unavailable` if that is unknown, and the next retry asks
    ///   again.
    func finish(
        _ turn: Turn, _ failure: SignInError, of run: SignInRun
    ) async throws(SignInError) -> (Outcome, Turn) {
        var reason = failure
        if turn.isStored, store.isShared, failure.codeMayBeSpent || failure == .nonceNotIssued {
            var recalled: Result<Outcome, SignInError>?
            do throws(SignInError) {
                recalled = try await recall(turn, run)
            } catch {
                reason = error
            }
            if let recalled {
                var turn = turn
                turn.isReplay = true
                return (try recalled.get(), turn)
            }
        }
        end(turn, failure)
        throw reason
    }

    /// A session of the user was ended: no earlier sign-in of theirs gives another session.
    func endRetries(of user: UserID) { table.forget(user) }

    /// How many requests wait for the same one under way.
    var waiterCount: Int { table.waiterCount }

    /// Reads this process's sign-ins of before the start, once for all requests. A sign-in waits for it: otherwise a
    /// code could be posted again.
    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    private func readEarlier(_ run: SignInRun) async throws(SignInError) {
        run.begin(.recall)
        let failure = await reading.value(for: true, unless: { _ in hasRead.isSet ? .some(nil) : nil }) {
            let now = clock.now()
            // Nothing of before the start is still in its window.
            guard now <= startedAt.advanced(bySeconds: window) else {
                hasRead.set()
                return nil
            }
            do throws(SignInError) {
                let found = try await mappingStoreErrors(await store.recentSignIns(at: now, limit: table.capacity))
                for earlier in found { table.add(earlier, since: since(earlier, at: now), at: now) }
                hasRead.set()
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// When an earlier sign-in was done. The clock of the instance that recorded it may be ahead.
    private func since(_ earlier: RecentSignIn, at now: Timestamp) -> Timestamp {
        min(now, earlier.endsAt.advanced(bySeconds: -(window + 1)))
    }

    /// The outcome of an earlier run, unless it is an error or the user's session was ended since.
    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    private func stillValid(
        _ result: Result<Outcome, SignInError>, _ run: SignInRun, _ turn: Turn
    ) async throws(SignInError) -> Outcome {
        switch result {
        case .failure(let error):
            // The instance that spent the code may have been at work still when this one was refused.
            guard turn.isStored, error.codeMayBeSpent, store.isShared,
                let recalled = try await recall(turn, run)
            else { throw error }
            return try recalled.get()
        case .success(.verified(let verified, _)) where turn.isStored:
            // The user may have registered with the first response, and signed out since.
            if case .live(let user) = try await store.status(of: verified.identity),
                table.wasSignedOut(user, since: turn.key, at: clock.now())
            {
                throw .signedOutSince
            }
        case .success: break
        }
        return try result.get()
    }

    /// Looks the sign-in up in the store. One that is there is in memory from now on, and over.
    /// Not inlined: its variables would have their place in the memory of every sign-in.
    @inline(never)
    private func recall(
        _ turn: Turn, _ run: SignInRun
    ) async throws(SignInError) -> Result<Outcome, SignInError>? {
        run.begin(.recall)
        let now = clock.now()
        let found = try await mappingStoreErrors(await store.recentSignIn(turn.key.bytes, at: now))
        guard let found else { return nil }
        run.log.wasSentBefore = true
        return table.end(turn.key, with: found.session, since: since(found, at: now), at: clock.now())
    }

    /// A failure is remembered if the code may be spent. Otherwise the requests that wait share it, unless the task was
    /// cancelled: then one of them takes over.
    private func end(_ turn: Turn, _ failure: SignInError) {
        let isShared = failure.codeMayBeSpent || !Task.isCancelled
        table.end(turn.key, isShared ? .failure(failure) : nil, nonceTakenAt: turn.nonceTakenAt, at: clock.now())
    }
}
