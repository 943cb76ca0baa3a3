import OpenIDConnect
package import Primitives
package import StorageModel
import Synchronization

/// Keeps the capsules of failures, so many in each minute. A flood of failures therefore costs little.
package final class CapsuleRecorder: Sendable {
    /// What became of a capsule. The raw value is the name in metrics.
    package enum Outcome: String, Sendable, CaseIterable {
        case stored
        /// Too many failures at once.
        case dropped
        /// The store refused it.
        case failed
    }

    /// The capsules of the present minute.
    private struct State {
        /// The minutes since 1970.
        var minute: Int64 = 0
        var capsules = 0
        var capsulesByCause: [String: Int] = [:]
        /// How many are being made or stored.
        var underWay = 0
        /// Whether one of them is of an unauthenticated caller.
        var hasUnauthenticatedUnderWay = false
        /// Those who wait until none is under way.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The most capsules that are made and stored at once, so that few wait while the store hangs. One of them may be
    /// of an unauthenticated caller.
    private static let maximumAtOnce = 4
    /// The longest time that the response of a failure waits for its capsule. The capsule is stored all the same.
    private static let patience = Duration.milliseconds(500)

    private let store: any CapsuleStore
    private let version: String
    private let clock: WallClock
    private let random: RandomSource
    private let observer: @Sendable (Outcome) -> Void
    private let maximumPerMinute: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - version: Of this program.
    ///   - maximumPerMinute: The most capsules that are made in one minute.
    ///   - observer: Is told what became of each capsule.
    package init(
        store: any CapsuleStore, version: String, maximumPerMinute: Int, clock: WallClock = .system,
        random: RandomSource = .system,
        observer: @escaping @Sendable (Outcome) -> Void = { _ in }
    ) {
        self.store = store
        self.version = version
        self.clock = clock
        self.random = random
        self.observer = observer
        self.maximumPerMinute = maximumPerMinute
    }

    /// Whether another capsule may be made now. One cause may have a third of those of a minute, so that a flood of it
    /// leaves room for others. All unauthenticated callers together have one cause.
    private func enter(for cause: String, isUnauthenticated: Bool, at now: Timestamp) -> Bool {
        state.withLock { state in
            let minute = now.secondsSinceEpoch / 60
            if state.minute != minute { (state.minute, state.capsules, state.capsulesByCause) = (minute, 0, [:]) }
            let ofCause = state.capsulesByCause[cause, default: 0]
            guard state.capsules < maximumPerMinute,
                ofCause < max(isUnauthenticated ? 0 : 1, maximumPerMinute / 3),
                state.underWay < Self.maximumAtOnce, !isUnauthenticated || !state.hasUnauthenticatedUnderWay
            else { return false }
            state.capsules += 1
            state.capsulesByCause[cause] = ofCause + 1
            state.underWay += 1
            if isUnauthenticated { state.hasUnauthenticatedUnderWay = true }
            return true
        }
    }

    private func leave(isUnauthenticated: Bool) {
        let waiters = state.withLock { state in
            state.underWay -= 1
            if isUnauthenticated { state.hasUnauthenticatedUnderWay = false }
            guard state.underWay == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until every capsule that was begun is stored or has failed.
    package func settle() async {
        await withCheckedContinuation { waiter in
            let isIdle = state.withLock { state in
                if state.underWay > 0 { state.waiters.append(waiter) }
                return state.underWay == 0
            }
            if isIdle { waiter.resume() }
        }
    }

    /// Makes the capsule of a failure and stores it. Returns when it is stored, and earlier if the store takes long.
    fileprivate func keep(_ subject: CapsuleSubject, _ error: SignInError, _ record: ProtocolRecord) async {
        let now = clock.now()
        let cause = subject.cause(of: error)
        let isUnauthenticated = subject.isUnauthenticated
        guard enter(for: cause, isUnauthenticated: isUnauthenticated, at: now) else { return observer(.dropped) }
        let source = Capsule.Source(subject: subject.complete, error: error, record: record, at: now, version: version)
        let capsule = CapsuleRecord(
            correlationID: subject.correlationID, time: now, cause: cause, json: Capsule.json(source, random: random))
        let (end, ending) = AsyncStream.makeStream(of: Never.self)
        let deadline = Task {
            try? await Task.sleep(for: Self.patience)
            ending.finish()
        }
        Task {
            await add(capsule)
            leave(isUnauthenticated: isUnauthenticated)
            ending.finish()
            deadline.cancel()
        }
        for await _ in end {}
    }

    private func add(_ capsule: CapsuleRecord) async {
        do throws(StorageError) {
            try await store.addCapsule(capsule)
            observer(.stored)
        } catch {
            observer(.failed)
        }
    }
}

/// What every use case does for the capsules of its failures. Without a recorder none are made.
extension CapsuleRecorder? {
    /// Runs an operation with a record of what providers send. If it fails, its capsule is kept.
    ///
    /// An operation within another one adds to that one's record. Only one of them may have a subject for a failure.
    /// - Parameter failed: Called with the failure, whether or not capsules are made. Returns what the capsule is
    ///   about; nil for a failure that leaves none.
    func recording<Value>(
        _ operation: () async throws(SignInError) -> Value, failed: (SignInError) -> CapsuleSubject?
    ) async throws(SignInError) -> Value {
        let outer = ProtocolRecord.current
        let record = self == nil ? nil : outer ?? ProtocolRecord()
        do throws(SignInError) {
            guard let record, outer == nil else { return try await operation() }
            return try await ProtocolRecord.$current.withValue(record) { () async -> Result<Value, SignInError> in
                do throws(SignInError) { return .success(try await operation()) } catch { return .failure(error) }
            }.get()
        } catch {
            if let subject = failed(error), let record { await self?.keep(subject, error, record) }
            throw error
        }
    }

    /// Keeps the capsule of a failure that ends its operation with a value. The operation is a recorded one.
    func keep(_ subject: @autoclosure () -> CapsuleSubject?, _ error: SignInError) async {
        guard let self, let record = ProtocolRecord.current, let subject = subject() else { return }
        await self.keep(subject, error, record)
    }
}
