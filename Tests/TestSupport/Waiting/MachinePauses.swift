import Foundation
import Synchronization

/// Counts the pauses of the whole machine: a virtual machine that its host did not schedule, or a stopped process. A
/// deadline that passes during a pause says nothing about the tested program.
///
/// Its thread sleeps on purpose: a sleep that takes much longer than asked for is the measurement.
public final class MachinePauses: Sendable {
    private struct State {
        var count = 0
        var isStopped = false
    }

    private let state = Mutex(State())

    /// - Parameter limit: The shortest oversleep of the thread that counts as a pause.
    public init(longerThan limit: Duration = .milliseconds(400)) {
        Thread.detachNewThread { [weak self] in
            var last = ContinuousClock.now
            while true {
                // The sleep is the measurement: it takes longer when the machine pauses.
                Thread.sleep(forTimeInterval: 0.02)
                let now = ContinuousClock.now
                guard let self, !self.note(isPause: now - last > limit) else { return }
                last = now
            }
        }
    }

    public var count: Int { state.withLock(\.count) }

    public func stop() { state.withLock { $0.isStopped = true } }

    /// - Returns: Whether the thread should end.
    private func note(isPause: Bool) -> Bool {
        state.withLock { state in
            if isPause { state.count += 1 }
            return state.isStopped
        }
    }
}
