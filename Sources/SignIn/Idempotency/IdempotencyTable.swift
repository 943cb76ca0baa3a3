import Crypto
import OpenIDConnect
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

    /// A value, how many outcomes and sign-outs preceded it, and how often it was repeated.
    private struct Entry<Value: Sendable>: Sendable {
        let value: Value
        var repeats: UInt8 = 0
        let count: UInt64

        /// - Throws: `invalid_grant` after too many repeats.
        mutating func countRepeat() throws(SignInError) {
            guard repeats < IdempotencyTable.maximumRepeats else { throw .sentTooOften }
            repeats += 1
        }
    }

    private struct State {
        /// Apart from the other results, because there are many and they are small.
        var sessions: BoundedCache<IdempotencyKey, Entry<GivenSession>>
        var others: BoundedCache<IdempotencyKey, Entry<Result>>
        var noncesTaken: BoundedCache<IdempotencyKey, Timestamp>
        /// The count at the latest end of one of the user's sessions.
        var signOuts: BoundedCache<UserID, UInt64>
        var count: UInt64 = 0
        var inFlight: [IdempotencyKey: [Waiter]] = [:]

        mutating func turn(for key: IdempotencyKey, at now: Timestamp) -> Turn? {
            if inFlight[key] != nil { return nil }
            if let entry = sessions.value(for: key, at: now) {
                let isOver = signOuts[entry.value.user].map { $0 > entry.count } ?? false
                return .done(isOver ? .failure(.signedOutSince) : repeating(entry, for: key, at: now))
            }
            if let entry = others.value(for: key, at: now) { return .done(repeating(entry, for: key, at: now)) }
            inFlight[key] = []
            return .lead(nonceTakenAt: noncesTaken.value(for: key, at: now))
        }

        mutating func keep(_ result: Result, for key: IdempotencyKey, at now: Timestamp) {
            count += 1
            if case .success(.signedIn(let session)) = result {
                sessions.put(Entry(value: session, count: count), for: key, at: now)
            } else {
                let repeats = others.value(for: key, at: now)?.repeats ?? 0
                others.put(Entry(value: result, repeats: repeats, count: count), for: key, at: now)
            }
        }

        mutating func keep(
            _ session: GivenSession, for key: IdempotencyKey, since: Timestamp, at now: Timestamp
        ) -> Result {
            if let entry = sessions.value(for: key, at: now) { return repeating(entry, for: key, at: now) }
            count += 1
            sessions.put(Entry(value: session, repeats: 1, count: count), for: key, at: since)
            return .success(.signedIn(session))
        }

        private mutating func repeating(
            _ entry: Entry<GivenSession>, for key: IdempotencyKey, at now: Timestamp
        ) -> Result {
            Result { () throws(SignInError) in
                var entry = entry
                try entry.countRepeat()
                sessions.put(entry, for: key, at: now)
                return .signedIn(entry.value)
            }
        }

        private mutating func repeating(_ entry: Entry<Result>, for key: IdempotencyKey, at now: Timestamp) -> Result {
            Result { () throws(SignInError) in
                let outcome = try entry.value.get()
                var entry = entry
                try entry.countRepeat()
                others.put(entry, for: key, at: now)
                return outcome
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
            state.sessions.put(Entry(value: earlier.session, count: state.count), for: key, at: since)
        }
    }

    /// Keeps the outcome of a repeated sign-in.
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
    var bytes: [UInt8] { [high, low].withUnsafeBytes { Array($0) } }

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
