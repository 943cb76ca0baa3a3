import Dispatch
import Synchronization

@testable import Storage

/// A clock that stands still, but for what the test does during a wait. A wait for which it does nothing takes its time
/// at once.
final class ManualCommitTimer: CommitTimer {
    private struct State {
        var time: UInt64 = 1_000
        var waits: [UInt64] = []
        var ends = 0
        var events: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    var nanoseconds: UInt64 { state.withLock { $0.time } }
    var waits: [UInt64] { state.withLock { $0.waits } }
    /// How many waits were ended before their time.
    var ends: Int { state.withLock { $0.ends } }

    func wait(nanoseconds: UInt64) {
        let event = state.withLock { state -> (@Sendable () -> Void)? in
            state.waits.append(nanoseconds)
            return state.events.isEmpty ? nil : state.events.removeFirst()
        }
        guard let event else { return advance(by: nanoseconds) }
        event()
    }

    func end() {
        state.withLock { $0.ends += 1 }
        ended.signal()
    }

    /// What happens during the next waits.
    func during(_ events: @Sendable () -> Void...) { state.withLock { $0.events = events } }

    func advance(by nanoseconds: UInt64) { state.withLock { $0.time += nanoseconds } }

    /// Blocks until ``end()`` was called, at most a minute.
    func waitForEnd() { _ = ended.wait(timeout: .now() + 60) }
}
