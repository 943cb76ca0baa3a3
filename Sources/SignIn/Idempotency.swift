import Crypto
import OpenIDConnect
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

/// The outcomes of this process's sign-ins of the last minute, and the requests that wait for one under way.
final class IdempotencyTable: Sendable {
    typealias Result = Swift.Result<Idempotency.Outcome, SignInError>

    enum Turn: Sendable {
        /// The first of its kind: do it and call ``end(_:_:nonceTakenAt:at:)``. With `nonceTakenAt`, an earlier run
        /// took the issued nonce then, and got no further.
        case lead(nonceTakenAt: Timestamp?)
        case done(Result)
    }

    /// Resumed with nil to begin again.
    private typealias Waiter = CheckedContinuation<Turn?, Never>

    /// A result, how many outcomes and sign-outs preceded it, and how often it was repeated.
    private struct Entry: Sendable {
        let result: Result
        var repeats: UInt8 = 0
        let count: UInt64
    }

    private struct State {
        /// Apart from the other results, because there are many and they are small.
        var sessions: BoundedCache<IdempotencyKey, Entry>
        var others: BoundedCache<IdempotencyKey, Entry>
        var noncesTaken: BoundedCache<IdempotencyKey, Timestamp>
        /// The count at the latest end of one of the user's sessions.
        var signOuts: BoundedCache<UserID, UInt64>
        var count: UInt64 = 0
        var inFlight: [IdempotencyKey: [Waiter]] = [:]

        mutating func turn(for key: IdempotencyKey, at now: Timestamp) -> Turn? {
            if inFlight[key] != nil { return nil }
            if let entry = sessions.value(for: key, at: now) ?? others.value(for: key, at: now) {
                let isOver = entry.result.session.flatMap { signOuts[$0.user] }.map { $0 > entry.count } ?? false
                return .done(isOver ? .failure(.signedOutSince) : repeating(entry, for: key, at: now))
            }
            inFlight[key] = []
            return .lead(nonceTakenAt: noncesTaken.value(for: key, at: now))
        }

        mutating func keep(_ result: Result, for key: IdempotencyKey, at now: Timestamp) {
            count += 1
            let repeats = result.session == nil ? others.value(for: key, at: now)?.repeats ?? 0 : 0
            put(Entry(result: result, repeats: repeats, count: count), for: key, at: now)
        }

        mutating func keep(
            _ session: GivenSession, for key: IdempotencyKey, since: Timestamp, at now: Timestamp
        ) -> Result {
            if let entry = sessions.value(for: key, at: now) { return repeating(entry, for: key, at: now) }
            count += 1
            let result = Result.success(.signedIn(session))
            put(Entry(result: result, repeats: 1, count: count), for: key, at: since)
            return result
        }

        /// The result of an entry, which is repeated once more: `invalid_grant` after too many repeats.
        private mutating func repeating(_ entry: Entry, for key: IdempotencyKey, at now: Timestamp) -> Result {
            guard case .success = entry.result else { return entry.result }
            guard entry.repeats < IdempotencyTable.maximumRepeats else { return .failure(.sentTooOften) }
            var entry = entry
            entry.repeats += 1
            put(entry, for: key, at: now)
            return entry.result
        }

        mutating func put(_ entry: Entry, for key: IdempotencyKey, at time: Timestamp) {
            if entry.result.session == nil {
                others.put(entry, for: key, at: time)
            } else {
                sessions.put(entry, for: key, at: time)
            }
        }
    }

    /// How often one outcome is repeated: an app that lost the response needs it once or twice, and a client must not
    /// fill the store with sessions.
    static let maximumRepeats: UInt8 = 16

    private let state: Mutex<State>
    /// The most sessions kept.
    let capacity: Int

    /// - Parameters:
    ///   - window: How long an outcome is kept, in seconds.
    ///   - capacity: The most sessions kept, at 150 bytes each; of the other results, which are larger and fewer,
    ///     an eighth of that.
    init(window: Int64, capacity: Int = 32_768) {
        self.capacity = capacity
        state = Mutex(
            State(
                sessions: BoundedCache(capacity: capacity, age: .insertion, lifetime: window),
                others: BoundedCache(capacity: capacity / 8, age: .insertion, lifetime: window),
                noncesTaken: BoundedCache(capacity: capacity / 8, age: .insertion, lifetime: window),
                signOuts: BoundedCache(capacity: capacity)))
    }

    /// A session of the user was ended: no earlier outcome gives another one.
    func forget(_ user: UserID) {
        state.withLock { state in
            state.count += 1
            state.signOuts.put(state.count, for: user)
        }
    }

    /// Whether a session of the user was ended since the provider vouched for them in this sign-in.
    func wasSignedOut(_ user: UserID, since key: IdempotencyKey, at now: Timestamp) -> Bool {
        state.withLock { state in
            guard let other = state.others.value(for: key, at: now), let end = state.signOuts[user] else {
                return false
            }
            return end > other.count
        }
    }

    /// Waits while the same sign-in is under way.
    func begin(_ key: IdempotencyKey, at now: Timestamp) async -> Turn {
        while true {
            if let turn = state.withLock({ $0.turn(for: key, at: now) }) { return turn }
            if let turn = await wait(for: key) { return turn }
        }
    }

    /// The turn that the end of the one under way leads to; nil to begin again.
    private func wait(for key: IdempotencyKey) async -> Turn? {
        await withCheckedContinuation { (waiter: Waiter) in
            let mustWait = state.withLock { state in
                guard state.inFlight[key] != nil else { return false }
                state.inFlight[key]?.append(waiter)
                return true
            }
            if !mustWait { waiter.resume(returning: nil) }
        }
    }

    /// Adds a sign-in that was done before this process started.
    func add(_ earlier: RecentSignIn, since: Timestamp, at now: Timestamp) {
        guard let key = IdempotencyKey(bytes: earlier.key) else { return }
        state.withLock { state in
            state.count += 1
            state.put(
                Entry(result: .success(.signedIn(earlier.session)), count: state.count), for: key, at: since)
        }
    }

    func keep(_ outcome: Idempotency.Outcome, for key: IdempotencyKey, at now: Timestamp) {
        state.withLock { $0.keep(.success(outcome), for: key, at: now) }
    }

    /// Ends a sign-in under way, and resumes the requests that wait for it. A failure that left the code unused is not
    /// kept.
    /// - Parameter result: Nil if the task was cancelled: one of those that wait does it again.
    func end(_ key: IdempotencyKey, _ result: Result?, nonceTakenAt: Timestamp?, at now: Timestamp) {
        let waiters = state.withLock { state in
            if let nonceTakenAt { state.noncesTaken.put(nonceTakenAt, for: key, at: nonceTakenAt) }
            if let result, result.isKept { state.keep(result, for: key, at: now) }
            return state.inFlight.removeValue(forKey: key) ?? []
        }
        resume(waiters, with: result)
    }

    /// Ends a sign-in, under way or not, that another instance did.
    /// - Parameter since: When it was done; it is kept as long as if it had been done here.
    /// - Returns: The result, which counts as one repetition.
    func end(_ key: IdempotencyKey, with session: GivenSession, since: Timestamp, at now: Timestamp) -> Result {
        let (result, waiters) = state.withLock { state in
            (state.keep(session, for: key, since: since, at: now), state.inFlight.removeValue(forKey: key) ?? [])
        }
        resume(waiters, with: .success(.signedIn(session)))
        return result
    }

    /// After a success each begins again, and so is counted.
    private func resume(_ waiters: [Waiter], with result: Result?) {
        var turn: Turn?
        if let result, case .failure = result { turn = .done(result) }
        for waiter in waiters { waiter.resume(returning: turn) }
    }

    /// How many requests wait for the same one under way.
    var waiterCount: Int {
        state.withLock { state in state.inFlight.values.reduce(0) { $0 + $1.count } }
    }
}

extension IdempotencyTable.Result {
    fileprivate var isKept: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.codeMayBeSpent
        }
    }

    fileprivate var session: GivenSession? {
        guard case .success(.signedIn(let session)) = self else { return nil }
        return session
    }
}

/// Identifies a retry of the same sign-in: 128 bits of a SHA-256 over every field that affects the outcome, and the
/// caller.
///
/// All fields, because a stolen code without its verifier, or with another nonce, must not pass for a retry. The
/// caller, because what one app was given is not for another.
package struct IdempotencyKey: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    /// The 16 bytes in the store.
    package var bytes: [UInt8] { [high, low].withUnsafeBytes { Array($0) } }

    /// The key in the store; nil unless there are 16 bytes.
    init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        (high, low) = bytes.withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }

    /// - Parameter session: The session whose user the code is for; nil for a sign-in.
    package init(_ request: SignInRequest, ofSession session: String? = nil) {
        let fields = Fields(request, ofSession: session)
        (high, low) = SHA256.hash(data: fields.bytes).withUnsafeBytes {
            ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }
    }
}

/// Each field follows its length, so that no two lists of fields have the same bytes.
private struct Fields {
    private(set) var bytes: [UInt8] = []

    init(_ request: SignInRequest, ofSession session: String?) {
        bytes.reserveCapacity(768)
        add(session)
        add(request.provider.text)
        add(request.clientID.text)
        add(request.code.exposed)
        add(request.network?.text)
        add(request.redirectURI)
        add(request.codeVerifier?.secret.exposed)
        add(request.nonce?.exposed)
        add(request.demand.acrValues)
        add(request.demand.context)
        add(request.demand.scopes)
        add(request.state)
        // Stored keys have these words.
        if request.standsInForCode { add("operator token") }
        if let recency = request.demand.recency { add("authentication " + recency) }
        if let caller = request.caller { add(caller.hash) }
    }

    mutating func add(_ texts: [String]) {
        add(count: texts.count)
        for text in texts { add(text) }
    }

    mutating func add(_ text: String?) {
        guard let text else { return add(count: -1) }
        add(count: text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(_ hash: TokenHash) {
        add(count: 32)
        hash.withUnsafeBytes { bytes.append(contentsOf: $0) }
    }

    private mutating func add(count: Int) {
        withUnsafeBytes(of: Int64(count)) { bytes.append(contentsOf: $0) }
    }
}
