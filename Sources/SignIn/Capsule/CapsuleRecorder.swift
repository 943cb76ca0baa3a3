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
        var capsules: [CapsuleSubject.Origin: Int] = [:]
        var capsulesByCause: [String: Int] = [:]
        /// How many are being made or stored.
        var underWay: [CapsuleSubject.Origin: Int] = [:]

        var allUnderWay: Int { underWay.values.reduce(0, +) }
        /// Those who wait until none is under way.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// What the capsules of one origin may have, so that those of callers with an API key always find a place.
    private struct Share {
        let perMinute: Int
        let perCause: Int
        /// How many are made and stored at once.
        let atOnce: Int
    }

    /// The most capsules that are made and stored at once, so that few wait while the store hangs.
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

    /// One cause may have a third, so that a flood of it leaves room for others. All sign-ins together that need no API
    /// key have a third, whatever causes they have, and all unauthenticated callers together have another.
    private func share(of origin: CapsuleSubject.Origin) -> Share {
        let third = max(1, maximumPerMinute / 3)
        return switch origin {
        case .known: Share(perMinute: maximumPerMinute, perCause: third, atOnce: Self.maximumAtOnce)
        case .keyless: Share(perMinute: third, perCause: max(1, third / 3), atOnce: Self.maximumAtOnce / 2)
        case .unauthenticated: Share(perMinute: maximumPerMinute / 3, perCause: maximumPerMinute / 3, atOnce: 1)
        }
    }

    /// Whether another capsule may be made now.
    private func enter(for cause: String, _ origin: CapsuleSubject.Origin, at now: Timestamp) -> Bool {
        let share = share(of: origin)
        return state.withLock { state in
            let minute = now.secondsSinceEpoch / 60
            if state.minute != minute { (state.minute, state.capsules, state.capsulesByCause) = (minute, [:], [:]) }
            guard state.capsules.values.reduce(0, +) < maximumPerMinute,
                state.capsules[origin, default: 0] < share.perMinute,
                state.capsulesByCause[cause, default: 0] < share.perCause,
                state.allUnderWay < Self.maximumAtOnce, state.underWay[origin, default: 0] < share.atOnce
            else { return false }
            state.capsules[origin, default: 0] += 1
            state.capsulesByCause[cause, default: 0] += 1
            state.underWay[origin, default: 0] += 1
            return true
        }
    }

    private func leave(_ origin: CapsuleSubject.Origin) {
        let waiters = state.withLock { state in
            state.underWay[origin, default: 0] -= 1
            guard state.allUnderWay == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until every capsule that was begun is stored or has failed.
    package func settle() async {
        await withCheckedContinuation { waiter in
            let isIdle = state.withLock { state in
                if state.allUnderWay > 0 { state.waiters.append(waiter) }
                return state.allUnderWay == 0
            }
            if isIdle { waiter.resume() }
        }
    }

    /// Makes the capsule of a failure and stores it. Returns when it is stored, and earlier if the store takes long.
    fileprivate func keep(_ subject: CapsuleSubject, _ error: SignInError, _ record: ProtocolRecord) async {
        let now = clock.now()
        let cause = subject.cause(of: error)
        let origin = subject.origin
        guard enter(for: cause, origin, at: now) else { return observer(.dropped) }
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
            leave(origin)
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
    /// - Parameters:
    ///   - correlationID: Is in the error; nil for an operation that names none.
    ///   - sentNames: As in ``SignInError/with(_:_:)``.
    ///   - failed: Called with the failure, whether or not capsules are made. Returns what the capsule is about; nil
    ///     for a failure that leaves none.
    func recording<Value>(
        as correlationID: CorrelationID? = nil, _ sentNames: [String: String] = [:],
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
            throw correlationID.map { error.with($0, sentNames) } ?? error
        }
    }

    /// Keeps the capsule of a failure that ends its operation with a value. The operation is a recorded one.
    func keep(_ subject: @autoclosure () -> CapsuleSubject?, _ error: SignInError) async {
        guard let self, let record = ProtocolRecord.current, let subject = subject() else { return }
        await self.keep(subject, error, record)
    }
}
