import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Synchronization

/// Keeps the capsules of failures, so many in each minute. A flood of failures therefore costs little.
final class CapsuleRecorder: Sendable {
    /// What became of a capsule. The raw value is the name in metrics.
    enum Outcome: String, Sendable, CaseIterable {
        case stored
        /// Too many failures at once.
        case dropped
        case failed
    }

    /// The capsules of the present minute.
    private struct State {
        /// The minutes since 1970.
        var minute: Int64 = 0
        var capsules: [FailedOperation.Origin: Int] = [:]
        var capsulesByCause: [String: Int] = [:]
        /// How many are being made or stored.
        var underWay: [FailedOperation.Origin: Int] = [:]

        var allUnderWay: Int { underWay.values.reduce(0, +) }
        /// Those who wait until none is under way.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The most capsules that are made and stored at once, so that few wait while the store hangs.
    private static let maximumAtOnce = 4
    /// The longest time that the response of a failure waits for its capsule. The capsule is stored all the same.
    private static let patience = Duration.milliseconds(500)

    private let add: @Sendable (CapsuleRecord) async throws(StorageError) -> Void
    private let version: String
    private let clock: WallClock
    private let random: RandomSource
    private let observer: @Sendable (Outcome) -> Void
    private let maximumPerMinute: Int
    private let state = Mutex(State())

    init(
        version: String, maximumPerMinute: Int, clock: WallClock = .system, random: RandomSource = .system,
        observer: @escaping @Sendable (Outcome) -> Void = { _ in },
        add: @escaping @Sendable (CapsuleRecord) async throws(StorageError) -> Void
    ) {
        self.add = add
        self.version = version
        self.clock = clock
        self.random = random
        self.observer = observer
        self.maximumPerMinute = maximumPerMinute
    }

    /// What the capsules of one origin may have, so that those of callers with an API key always find a place; `atOnce`
    /// are made and stored at once.
    ///
    /// One cause may have a third, so that a flood of it leaves room for others. All sign-ins together that need no API
    /// key have a third, whatever causes they have, and all unauthenticated callers together have another.
    private func share(of origin: FailedOperation.Origin) -> (perMinute: Int, perCause: Int, atOnce: Int) {
        let third = max(1, maximumPerMinute / 3)
        return switch origin {
        case .known: (maximumPerMinute, third, Self.maximumAtOnce)
        case .keyless: (third, max(1, third / 3), Self.maximumAtOnce / 2)
        case .unauthenticated: (maximumPerMinute / 3, maximumPerMinute / 3, 1)
        }
    }

    private func enter(for cause: String, _ origin: FailedOperation.Origin, at now: Timestamp) -> Bool {
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

    private func leave(_ origin: FailedOperation.Origin) {
        let waiters = state.withLock { state in
            state.underWay[origin, default: 0] -= 1
            guard state.allUnderWay == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until every capsule that was begun is stored or has failed.
    func settle() async {
        await withCheckedContinuation { waiter in
            let isIdle = state.withLock { state in
                if state.allUnderWay > 0 { state.waiters.append(waiter) }
                return state.allUnderWay == 0
            }
            if isIdle { waiter.resume() }
        }
    }

    /// Makes the capsule of a failure and stores it. Returns when it is stored, and earlier if the store takes long.
    func keep(_ operation: FailedOperation, _ error: SignInError, _ record: ProtocolRecord) async {
        let now = clock.now()
        let cause = operation.cause(of: error)
        let origin = operation.origin
        guard enter(for: cause, origin, at: now) else { return observer(.dropped) }
        let source = Capsule.Source(
            operation: operation, requested: operation.requested + operation.costly(), error: error, record: record,
            at: now, version: version)
        let capsule = CapsuleRecord(
            correlationID: operation.correlationID, time: now, cause: cause, json: Capsule.json(source, random: random))
        let ended = Wakeup()
        Task {
            do throws(StorageError) {
                try await add(capsule)
                observer(.stored)
            } catch {
                observer(.failed)
            }
            leave(origin)
            ended.signal()
        }
        await ended.wait(atMost: Self.patience)
    }
}

extension FailedOperation {
    /// The cause of whatever unauthenticated callers send.
    static let unauthenticatedCause = "unauthenticated"

    /// What failed, and where: one of a number of texts that is limited by the configuration, so that no caller can
    /// make more. All that unauthenticated callers send has one cause, so that it displaces nothing else, and what
    /// needs no API key has other causes than what needs one.
    func cause(of error: SignInError) -> String {
        guard origin != .unauthenticated else { return Self.unauthenticatedCause }
        return [
            provider, flow.rawValue, error.code.rawValue, error.errorType.rawValue,
            error.check?.rawValue ?? check ?? "", times.last?.rawValue ?? "", origin == .keyless ? "keyless" : "",
        ]
        .joined(separator: " ")
    }
}
