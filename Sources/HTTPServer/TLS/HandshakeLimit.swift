import Synchronization

/// Counts the handshakes under way, of all loops together. Where there are as many as there may be, the one that has
/// waited the longest for its client makes room for a new one, so that those who begin handshakes and do not go on with
/// them keep nobody else out.
package final class HandshakeLimit: Sendable {
    private struct Handshake {
        let began: MonotonicTime
        let cut: @Sendable () -> Void
    }

    private struct State {
        var underWay: [UInt64: Handshake] = [:]
        /// No handshake under way has a number below this.
        var oldest: UInt64 = 0
        var next: UInt64 = 0
    }

    /// Handshakes younger than this are not cut: their clients may be far away.
    private static let patience = Duration.seconds(1)

    private let maximum: Int
    private let state = Mutex(State())

    package init(maximum: Int) {
        self.maximum = maximum
    }

    package var count: Int { state.withLock { $0.underWay.count } }

    /// Counts a new handshake.
    /// - Parameter cut: Called if it has to make room; it is not counted any more then.
    /// - Returns: Its number; nil if there is no room.
    package func enter(at now: MonotonicTime, cut: @escaping @Sendable () -> Void) -> UInt64? {
        let (number, victim) = state.withLock { state -> (UInt64?, Handshake?) in
            var victim: Handshake?
            if state.underWay.count >= maximum {
                while state.oldest < state.next, state.underWay[state.oldest] == nil { state.oldest += 1 }
                guard let oldest = state.underWay[state.oldest],
                    oldest.began.advanced(by: HandshakeLimit.patience) <= now
                else { return (nil, nil) }
                victim = state.underWay.removeValue(forKey: state.oldest)
            }
            defer { state.next += 1 }
            state.underWay[state.next] = Handshake(began: now, cut: cut)
            return (state.next, victim)
        }
        victim?.cut()
        return number
    }

    /// A handshake is over.
    package func leave(_ number: UInt64) {
        state.withLock { _ = $0.underWay.removeValue(forKey: number) }
    }
}
