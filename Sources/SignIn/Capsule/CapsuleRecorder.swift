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
    }

    /// The most capsules that are made and stored at once. The response of the failure waits for its capsule: while the
    /// store hangs, the others must not wait, too.
    private static let maximumAtOnce = 4

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
    /// leaves room for others.
    private func enter(for cause: String, at now: Timestamp) -> Bool {
        state.withLock { state in
            let minute = now.secondsSinceEpoch / 60
            if state.minute != minute { (state.minute, state.capsules, state.capsulesByCause) = (minute, 0, [:]) }
            let ofCause = state.capsulesByCause[cause, default: 0]
            guard state.capsules < maximumPerMinute, ofCause < max(1, maximumPerMinute / 3),
                state.underWay < Self.maximumAtOnce
            else { return false }
            state.capsules += 1
            state.capsulesByCause[cause] = ofCause + 1
            state.underWay += 1
            return true
        }
    }

    /// Makes the capsule of a failure and stores it.
    fileprivate func keep(_ subject: CapsuleSubject, _ error: SignInError, _ record: ProtocolRecord) async {
        let now = clock.now()
        let cause = subject.cause(of: error)
        guard enter(for: cause, at: now) else { return observer(.dropped) }
        defer { state.withLock { $0.underWay -= 1 } }
        let source = Capsule.Source(subject: subject, error: error, record: record, at: now, version: version)
        let capsule = CapsuleRecord(
            correlationID: subject.correlationID, time: now, cause: cause, json: Capsule.json(source, random: random))
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
