import OpenIDConnect
import Primitives
import StorageModel
import Synchronization

/// Remembers for a minute what became of each sign-in, so that one sent twice costs one token request.
///
/// A mobile app that lost the answer sends the very same request again. Its code is spent by then, so the second request
/// is answered from here; and one that comes while the first is still under way waits for it. What other processes did is
/// found in the store (``EarlierSignIns``).
final class RecentSignIns: Sendable {
    /// What became of a sign-in, as far as the same one sent again depends on it.
    enum Result: Sendable {
        /// It gave a session.
        case signedIn(GivenSession)
        /// The carrier vouched for the user, but that gave no session: the user is not on record yet (`isUnknown`), or the
        /// store failed.
        case verified(VerifiedSignIn, isUnknown: Bool)
        /// It failed after the code was posted.
        case refused(SignInError)
    }

    enum Turn: Sendable {
        /// The first of its kind: do it, and say how it ended. With `nonceWasTaken`, an earlier try got as far as taking
        /// the handed-out nonce, and no further.
        case lead(nonceWasTaken: Bool)
        /// It has been done already.
        case done(Result)
        /// Done at the same time by somebody else, and failed before the code was posted.
        case failed(SignInError)
    }

    enum Ending: Sendable {
        case result(Result)
        /// It failed before the code was posted: not remembered.
        case failed(SignInError)
        /// Whoever did it was cancelled: those who wait have to do it themselves.
        case abandoned
    }

    private typealias Waiter = CheckedContinuation<Turn?, Never>

    /// The session that a sign-in gave, and after how many other sign-ins and sign-outs.
    private struct SignedIn: Sendable {
        let session: GivenSession
        let count: UInt64
        /// How often it was answered again.
        var repeats = 0
    }

    /// What else became of a sign-in, after how many other sign-ins and sign-outs, and how often it was answered again.
    private struct Other: Sendable {
        let result: Result
        let count: UInt64
        var repeats = 0
    }

    private struct State {
        var signedIn: RecentValues<SignedIn>
        var others: RecentValues<Other>
        var noncesTaken: RecentValues<Void>
        var signOuts: GenerationalCache<UserID, UInt64>
        var count: UInt64 = 0
        /// Those who wait for a sign-in under way.
        var underWay: [IdempotencyKey: [Waiter]] = [:]

        mutating func turn(for key: IdempotencyKey, at now: Timestamp) -> Turn? {
            if underWay[key] != nil { return nil }
            if let signedIn = signedIn.value(for: key, at: now) {
                let isOver = signOuts[signedIn.session.user].map { $0 > signedIn.count } ?? false
                guard !isOver else { return .done(.refused(.signedOutSince)) }
                return .done(again(signedIn, key, at: now))
            }
            if let other = others.value(for: key, at: now) { return .done(again(other, key, at: now)) }
            underWay[key] = []
            return .lead(nonceWasTaken: noncesTaken.value(for: key, at: now) != nil)
        }

        private mutating func again(_ earlier: SignedIn, _ key: IdempotencyKey, at now: Timestamp) -> Result {
            guard earlier.repeats < RecentSignIns.maximumRepeats else { return .refused(.sentTooOften) }
            var earlier = earlier
            earlier.repeats += 1
            signedIn.keep(earlier, for: key, at: now)
            return .signedIn(earlier.session)
        }

        private mutating func again(_ other: Other, _ key: IdempotencyKey, at now: Timestamp) -> Result {
            guard case .verified = other.result else { return other.result }
            guard other.repeats < RecentSignIns.maximumRepeats else { return .refused(.sentTooOften) }
            var other = other
            other.repeats += 1
            others.keep(other, for: key, at: now)
            return other.result
        }

        mutating func keep(_ result: Result, for key: IdempotencyKey, at now: Timestamp) {
            if case .signedIn(let session) = result {
                count += 1
                signedIn.keep(SignedIn(session: session, count: count), for: key, at: now)
            } else {
                count += 1
                let repeats = others.value(for: key, at: now)?.repeats ?? 0
                others.keep(Other(result: result, count: count, repeats: repeats), for: key, at: now)
            }
        }

        mutating func answer(
            _ key: IdempotencyKey, with session: GivenSession, since: Timestamp, at now: Timestamp
        ) -> Result {
            if let known = signedIn.value(for: key, at: now) { return again(known, key, at: now) }
            count += 1
            signedIn.keep(SignedIn(session: session, count: count, repeats: 1), for: key, at: since)
            return .signedIn(session)
        }
    }

    /// How often one sign-in gives a session again: an app that lost the answer needs it once or twice, and whoever holds
    /// the request must not fill the store with sessions.
    static let maximumRepeats = 16

    private let state: Mutex<State>

    /// - Parameters:
    ///   - window: For how many seconds a sign-in is remembered.
    ///   - capacity: How many successful ones are remembered at most, at about 150 bytes each; of the others, which are
    ///     larger and fewer, an eighth of that.
    init(window: Int64, capacity: Int = 32_768) {
        state = Mutex(
            State(
                signedIn: RecentValues(window: window, capacity: capacity),
                others: RecentValues(window: window, capacity: max(1, capacity / 8)),
                noncesTaken: RecentValues(window: window, capacity: max(1, capacity / 8)),
                signOuts: GenerationalCache(capacity: capacity)))
    }

    /// From now on no earlier sign-in of a user gets another session by being sent again: a session of the user was ended.
    func forget(_ user: UserID) {
        state.withLock { state in
            state.count += 1
            state.signOuts.put(state.count, for: user)
        }
    }

    /// Whether a session of the user was ended since the carrier vouched for them in this sign-in.
    func wasSignedOut(_ user: UserID, since key: IdempotencyKey, at now: Timestamp) -> Bool {
        state.withLock { state in
            guard let other = state.others.value(for: key, at: now), let end = state.signOuts[user] else {
                return false
            }
            return end > other.count
        }
    }

    /// Waits for the same sign-in if it is under way. Whoever gets ``Turn/lead(nonceWasTaken:)`` must call
    /// ``end(_:_:at:)``, come what may.
    func begin(_ key: IdempotencyKey, at now: Timestamp) async -> Turn {
        while true {
            if let turn = state.withLock({ $0.turn(for: key, at: now) }) { return turn }
            if let turn = await wait(for: key, at: now) { return turn }
        }
    }

    /// The turn that the end of the one under way leads to; nil to begin again.
    private func wait(for key: IdempotencyKey, at now: Timestamp) async -> Turn? {
        await withCheckedContinuation { (waiter: Waiter) in
            let mustWait = state.withLock { state in
                guard state.underWay[key] != nil else { return false }
                state.underWay[key]?.append(waiter)
                return true
            }
            if !mustWait { waiter.resume(returning: nil) }
        }
    }

    /// Notes that the handed-out nonce of a sign-in under way was taken.
    func noteNonceTaken(_ key: IdempotencyKey, at now: Timestamp) {
        state.withLock { $0.noncesTaken.keep((), for: key, at: now) }
    }

    /// Remembers what became of a sign-in that is not under way.
    func keep(_ result: Result, for key: IdempotencyKey, at now: Timestamp) {
        state.withLock { $0.keep(result, for: key, at: now) }
    }

    /// Remembers how a sign-in ended, and tells those who wait for it.
    func end(_ key: IdempotencyKey, _ ending: Ending, at now: Timestamp) {
        let waiters = state.withLock { state in
            if case .result(let result) = ending { state.keep(result, for: key, at: now) }
            return state.underWay.removeValue(forKey: key) ?? []
        }
        tell(waiters, ending)
    }

    /// Remembers that a sign-in, under way here or not, was done elsewhere, and tells those who wait for it.
    /// - Parameter since: When it was done; it is remembered as long as if it had been here.
    /// - Returns: What to answer; this answer counts as one that is given again.
    func end(
        _ key: IdempotencyKey, with session: GivenSession, since: Timestamp, at now: Timestamp
    ) -> Result {
        let (result, waiters) = state.withLock { state in
            (state.answer(key, with: session, since: since, at: now), state.underWay.removeValue(forKey: key) ?? [])
        }
        tell(waiters, .result(.signedIn(session)))
        return result
    }

    private func tell(_ waiters: [Waiter], _ ending: Ending) {
        for waiter in waiters {
            switch ending {
            // Each of them asks again, and so is counted.
            case .result(.signedIn), .result(.verified): waiter.resume(returning: nil)
            case .result(let result): waiter.resume(returning: .done(result))
            case .failed(let error): waiter.resume(returning: .failed(error))
            case .abandoned: waiter.resume(returning: nil)
            }
        }
    }

    /// How many wait for a sign-in under way.
    var waiterCount: Int {
        state.withLock { state in state.underWay.values.reduce(0) { $0 + $1.count } }
    }
}
