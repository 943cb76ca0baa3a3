package import Primitives

/// Decides whether to ask a server that did not respond lately.
///
/// A value without clock and network. *Closed*: every request passes, and failures in a row are counted. *Open*: no
/// request passes for a pause. *Half open*: one probe passes, and its end decides: a response closes the breaker, a
/// failure opens it for twice as long as before.
package struct CircuitBreaker: Sendable {
    package enum Admission: Sendable, Hashable {
        /// The request may be sent. Its end is reported with the ticket.
        case pass(Ticket)
        /// After how many seconds another try makes sense, 1 at least.
        case refuse(retryAfter: Int64)
    }

    /// The period in which a request passed. The end of a request of an earlier period does not count.
    package struct Ticket: Sendable, Hashable { fileprivate let period: Int }

    package enum Outcome: Sendable, Hashable {
        case answered
        case failed
        /// The request did not reach the server, so its end says nothing about it.
        case unknown
    }

    private enum State {
        case closed(failures: Int)
        case open(since: Timestamp, pause: Int64)
        case halfOpen(since: Timestamp, pause: Int64)
    }

    private let failures: Int
    private let firstPause: Int64
    private let longestPause: Int64
    private let probeLimit: Int64
    private var state = State.closed(failures: 0)
    private var period = 0

    /// - Parameters:
    ///   - failures: In a row, after which the breaker opens.
    ///   - pause: The first one; this and the others in seconds.
    ///   - probeLimit: After which a probe that has not ended counts as lost.
    package init(failures: Int, pause: Int64, longestPause: Int64 = 60, probeLimit: Int64 = 120) {
        self.failures = max(1, failures)
        firstPause = max(1, pause)
        self.longestPause = max(firstPause, longestPause)
        self.probeLimit = probeLimit
    }

    /// Whether there is nothing to remember. A breaker that was open before remembers its period.
    package var isPristine: Bool {
        guard case .closed(failures: 0) = state, period == 0 else { return false }
        return true
    }

    var status: ProviderStatus {
        switch state {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }

    package mutating func admit(now: Timestamp) -> Admission {
        switch state {
        case .closed: return .pass(Ticket(period: period))
        case .open(let since, let pause): return admit(after: pause, since: since, pause: pause, now)
        case .halfOpen(let since, let pause): return admit(after: probeLimit, since: since, pause: pause, now)
        }
    }

    /// Notes how a request that passed ended.
    package mutating func end(_ ticket: Ticket, _ outcome: Outcome, now: Timestamp) {
        guard ticket.period == period else { return }
        switch (state, outcome) {
        case (.closed, .answered), (.halfOpen, .answered): change(to: .closed(failures: 0))
        case (.closed(let failures), .failed):
            let opens = failures + 1 >= self.failures
            change(to: opens ? .open(since: now, pause: firstPause) : .closed(failures: failures + 1))
        case (.halfOpen(_, let pause), .failed):
            change(to: .open(since: now, pause: min(longestPause, pause * 2)))
        case (.halfOpen(_, let pause), .unknown):
            // The next one is the probe.
            change(to: .open(since: now.advanced(bySeconds: -pause), pause: pause))
        case (.closed, .unknown), (.open, _): break
        }
    }

    /// Lets a probe pass once `wait` seconds are over, or when the clock was set back: it might not catch up for long.
    private mutating func admit(after wait: Int64, since: Timestamp, pause: Int64, _ now: Timestamp) -> Admission {
        let elapsed = now.seconds(since: since)
        guard elapsed < 0 || elapsed >= wait else {
            guard case .open = state else { return .refuse(retryAfter: 1) }
            return .refuse(retryAfter: wait - elapsed)
        }
        change(to: .halfOpen(since: now, pause: pause))
        return .pass(Ticket(period: period))
    }

    /// Every change begins a new period, but for the count of a breaker that stays closed.
    private mutating func change(to new: State) {
        switch (state, new) {
        case (.closed, .closed): break
        default: period += 1
        }
        state = new
    }
}
