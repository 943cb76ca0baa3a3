import Synchronization

/// Limits the attempts of a pool to reach a server that is down: after a failure there is a pause, which doubles with
/// each further failure, up to two seconds.
final class ReconnectGate: Sendable {
    private struct State {
        var failures = 0
        var opensAt: ContinuousClock.Instant?
        var reason = ""
    }

    private let state = Mutex(State())

    /// The reason of the last failure during a pause; nil if an attempt is allowed.
    var writeBlocker: String? {
        state.withLock { state in
            guard let opensAt = state.opensAt, ContinuousClock.now < opensAt else { return nil }
            return state.reason
        }
    }

    func noteSuccess() { state.withLock { $0 = State() } }

    func noteFailure(_ reason: String) {
        state.withLock { state in
            state.failures = min(state.failures + 1, 6)
            // Random, so that the instances of the service do not try together.
            let milliseconds = Double(31 << state.failures) * Double.random(in: 0.8...1)
            state.opensAt = ContinuousClock.now + .milliseconds(Int(milliseconds))
            state.reason = reason
        }
    }
}
