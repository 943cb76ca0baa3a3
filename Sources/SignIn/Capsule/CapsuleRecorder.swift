import OpenIDConnect
package import Primitives
package import StorageModel
import Synchronization

/// Keeps the capsules of failed sign-ins, so many in each minute. A flood of failures therefore costs little.
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

    /// Whether another capsule may be made now.
    private func enter(at now: Timestamp) -> Bool {
        state.withLock { state in
            let minute = now.secondsSinceEpoch / 60
            if state.minute != minute { (state.minute, state.capsules) = (minute, 0) }
            guard state.capsules < maximumPerMinute, state.underWay < Self.maximumAtOnce else { return false }
            state.capsules += 1
            state.underWay += 1
            return true
        }
    }

    /// Makes the capsule of a failed sign-in and stores it.
    func keep(_ attempt: SignInAttempt, _ error: SignInError, _ record: ProtocolRecord, _ times: StepTimes) async {
        let now = clock.now()
        guard enter(at: now) else { return observer(.dropped) }
        defer { state.withLock { $0.underWay -= 1 } }
        let source = Capsule.Source(
            attempt: attempt, error: error, record: record, times: times, at: now, version: version)
        let capsule = CapsuleRecord(
            correlationID: attempt.correlationID.text, time: now, json: Capsule.json(source, random: random))
        do throws(StorageError) {
            try await store.addCapsule(capsule)
            observer(.stored)
        } catch {
            observer(.failed)
        }
    }
}
