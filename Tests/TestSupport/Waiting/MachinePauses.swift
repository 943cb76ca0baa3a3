import Foundation
import Synchronization

/// How often the whole machine stood still: a virtual one whose host had others to serve, or a program that was stopped.
/// Deadlines pass then that nobody let pass.
public final class MachinePauses: Sendable {
    private struct State {
        var count = 0
        var isStopped = false
    }

    private let state = Mutex(State())

    /// - Parameter limit: how much longer than it should a thread has to sleep for that to be one.
    public init(longerThan limit: Duration = .milliseconds(400)) {
        Thread.detachNewThread { [weak self] in
            var last = ContinuousClock.now
            while true {
                Thread.sleep(forTimeInterval: 0.02)
                let now = ContinuousClock.now
                guard let self, !self.note(isPause: now - last > limit) else { return }
                last = now
            }
        }
    }

    public var count: Int { state.withLock(\.count) }

    public func stop() { state.withLock { $0.isStopped = true } }

    /// Whether there is nobody any more to tell.
    private func note(isPause: Bool) -> Bool {
        state.withLock { state in
            if isPause { state.count += 1 }
            return state.isStopped
        }
    }
}
