import StorageModel
import Synchronization

/// Keeps the connections of a pool from hammering at a server that cannot be reached: after a failure nobody tries for a
/// moment, which doubles with each further failure, up to two seconds.
final class ReconnectGate: Sendable {
    private struct State {
        var failures = 0
        var opensAt: ContinuousClock.Instant?
        var reason = ""
    }

    private let state = Mutex(State())

    /// Why the server could not be reached a moment ago, if nobody is to try now.
    var obstacle: String? {
        state.withLock { state in
            guard let opensAt = state.opensAt, ContinuousClock.now < opensAt else { return nil }
            return state.reason
        }
    }

    func noteSuccess() { state.withLock { $0 = State() } }

    func noteFailure(_ reason: String) {
        state.withLock { state in
            state.failures = min(state.failures + 1, 6)
            // Not all copies of the service together.
            let milliseconds = Double(31 << state.failures) * Double.random(in: 0.8...1)
            state.opensAt = ContinuousClock.now + .milliseconds(Int(milliseconds))
            state.reason = reason
        }
    }
}
