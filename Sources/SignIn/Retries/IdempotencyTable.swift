import Primitives
import StorageModel
import Synchronization

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
