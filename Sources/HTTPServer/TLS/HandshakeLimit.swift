package import EventLoops
import Synchronization

/// Counts the handshakes in progress on all loops. At the limit, the handshake that has waited longest for its client
/// makes room for a new one, so that clients that begin handshakes and never continue them cannot lock others out.
package final class HandshakeLimit: Sendable {
    private struct Handshake {
        let began: MonotonicTime
        let cut: @Sendable () -> Void
    }

    private struct State {
        var inProgress: [UInt64: Handshake] = [:]
        /// No handshake in progress has a lower number.
        var oldest: UInt64 = 0
        var next: UInt64 = 0
    }

    /// Younger handshakes are not cut: their clients may be far away.
    private static let patience = Duration.seconds(1)

    private let maximum: Int
    private let state = Mutex(State())

    package init(maximum: Int) { self.maximum = maximum }

    package var count: Int { state.withLock { $0.inProgress.count } }

    /// Counts a new handshake.
    /// - Parameter cut: Called if it must make room; it is no longer counted then.
    /// - Returns: Its number; nil if there is no room.
    package func enter(at now: MonotonicTime, cut: @escaping @Sendable () -> Void) -> UInt64? {
        let (number, victim) = state.withLock { state -> (UInt64?, Handshake?) in
            var victim: Handshake?
            if state.inProgress.count >= maximum {
                while state.oldest < state.next, state.inProgress[state.oldest] == nil { state.oldest += 1 }
                guard let oldest = state.inProgress[state.oldest],
                    oldest.began.advanced(by: HandshakeLimit.patience) <= now
                else { return (nil, nil) }
                victim = state.inProgress.removeValue(forKey: state.oldest)
            }
            defer { state.next += 1 }
            state.inProgress[state.next] = Handshake(began: now, cut: cut)
            return (state.next, victim)
        }
        victim?.cut()
        return number
    }

    /// A handshake is over.
    package func leave(_ number: UInt64) {
        state.withLock { _ = $0.inProgress.removeValue(forKey: number) }
    }
}
