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

    /// The store has not answered in time.
    private struct NoAnswer: Error {}

    private let store: any MaintainedStore
    private let clock: WallClock
    private let patience: Duration
    private let last: CachedRead<Bool, NoAnswer>
    /// Whether the store has not answered its last check.
    private let isChecking = Mutex(false)

    init(store: any MaintainedStore, clock: WallClock, patience: Duration) {
        self.store = store
        self.clock = clock
        self.patience = patience
        last = CachedRead(lifetime: 1, clock: clock)
    }

    /// Whether the store answered its check within this second.
    package func isReady() async -> Bool {
        (try? await last.value { () async throws(NoAnswer) in try await self.check() }) ?? false
    }

    private func check() async throws(NoAnswer) -> Bool {
        guard !isChecking.withLock({ exchange(&$0, with: true) }) else { throw NoAnswer() }
        // The answer to the check before may have come after it was looked for.
        if let isReady = last.current {
            isChecking.withLock { $0 = false }
            return isReady
        }
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
        let deadline = Task { if (try? await Task.sleep(for: patience)) != nil { answer.finish() } }
        defer { deadline.cancel() }
        let now = clock.now()
        Task {
            let isReady = (try? await store.check()) != nil
            // An answer that took long is as old as the question.
            last.keep(isReady, readAt: now)
            self.isChecking.withLock { $0 = false }
            answer.yield(isReady)
        }
        for await isReady in answers { return isReady }
        throw NoAnswer()
    }
}
