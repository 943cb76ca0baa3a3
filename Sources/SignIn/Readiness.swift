import Primitives
import StorageModel
import Synchronization

/// Whether the store can be used. The store is asked at most once a second, because anyone may ask for readiness.
///
/// A store that does not answer in time is not ready: it may hang for minutes, and a probe must know sooner. It is not
/// asked again until it has answered.
package final class Readiness: Sendable {
    /// How long the store may take. With what the request takes besides, the answer is there within a second.
    package static let patience = Duration.milliseconds(800)

    fileprivate struct State {
        var last: (isReady: Bool, time: Timestamp)?
        var isAsking = false
        /// Whether the question under way has taken longer than the patience.
        var isOverdue = false
        var waiters: [CheckedContinuation<Bool, Never>] = []
    }

    private let store: any MaintainedStore
    private let clock: WallClock
    private let patience: Duration
    private let state = Mutex(State())

    init(store: any MaintainedStore, clock: WallClock, patience: Duration) {
        self.store = store
        self.clock = clock
        self.patience = patience
    }

    /// Whether the store answered its check within this second.
    package func isReady() async -> Bool {
        let now = clock.now()
        return await withCheckedContinuation { waiter in
            let (answer, asks) = state.withLock { state -> (Bool?, Bool) in
                if let answer = state.answer(at: now) { return (answer, false) }
                state.waiters.append(waiter)
                defer { state.isAsking = true }
                return (nil, !state.isAsking)
            }
            if let answer { waiter.resume(returning: answer) }
            if asks { ask(at: now) }
        }
    }

    private func ask(at now: Timestamp) {
        let deadline = Task {
            do { try await Task.sleep(for: patience) } catch { return }
            resumeAll(with: false) { $0.isOverdue = $0.isAsking }
        }
        Task {
            let isReady = (try? await store.check()) != nil
            deadline.cancel()
            resumeAll(with: isReady) { state in
                // An answer that took long is as old as the question.
                state.last = (isReady, now)
                state.isAsking = false
                state.isOverdue = false
            }
        }
    }

    private func resumeAll(with isReady: Bool, _ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: isReady) }
    }
}

extension Readiness.State {
    /// What is known without asking. A clock that was set back makes the last answer old.
    fileprivate func answer(at now: Timestamp) -> Bool? {
        if isAsking { return isOverdue ? false : nil }
        guard let last, last.time <= now, now < last.time.advanced(bySeconds: 1) else { return nil }
        return last.isReady
    }
}
