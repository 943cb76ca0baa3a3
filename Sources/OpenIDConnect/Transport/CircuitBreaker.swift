package import Primitives

/// Whether somebody who did not answer lately is asked again: not for a while, and then once, to see.
///
/// A value without clock and network. *Closed*, everybody passes, and failures without a success between are counted.
/// *Open*, nobody passes for a pause. *Half open*, one probe passes, and its end decides: an answer closes the breaker,
/// a failure opens it for twice as long as before.
package struct CircuitBreaker: Sendable {
    package struct Rules: Sendable, Hashable {
        /// Failures in a row after which the breaker opens.
        package var failures: Int
        /// The first pause and the longest, in seconds.
        package var pause: Int64
        package var longestPause: Int64
        /// Seconds after which a probe that has not ended counts as lost.
        package var probeLimit: Int64

        package init(failures: Int = 5, pause: Int64 = 5, longestPause: Int64 = 60, probeLimit: Int64 = 120) {
            self.failures = max(1, failures)
            self.pause = max(1, pause)
            self.longestPause = max(self.pause, longestPause)
            self.probeLimit = max(1, probeLimit)
        }
    }

    package enum Admission: Sendable, Hashable {
        /// The request may go; how it ended is told with the ticket.
        case pass(Ticket)
        /// Seconds after which it makes sense to come again, 1 at least.
        case refuse(retryAfter: Int64)
    }

    /// When a request was let through: one of before the last change says nothing of after it.
    package struct Ticket: Sendable, Hashable {
        fileprivate let period: Int
    }

    package enum Outcome: Sendable, Hashable {
        case answered
        case failed
        /// It says nothing of whoever was asked: the request did not get that far.
        case unknown
    }

    private enum State {
        case closed(failures: Int)
        case open(since: Timestamp, pause: Int64)
        case halfOpen(since: Timestamp, pause: Int64)
    }

    private let rules: Rules
    private var state = State.closed(failures: 0)
    private var period = 0

    package init(rules: Rules) {
        self.rules = rules
    }

    /// As good as new: there is nothing to remember. One that ever opened has its period to remember.
    package var isPristine: Bool {
        guard case .closed(failures: 0) = state, period == 0 else { return false }
        return true
    }

    var status: CarrierStatus {
        switch state {
        case .closed: .asked
        case .open: .leftAlone
        case .halfOpen: .tried
        }
    }

    package mutating func admit(now: Timestamp) -> Admission {
        switch state {
        case .closed: return .pass(Ticket(period: period))
        case .open(let since, let pause): return admit(after: pause, since: since, pause: pause, now)
        case .halfOpen(let since, let pause): return admit(after: rules.probeLimit, since: since, pause: pause, now)
        }
    }

    /// Takes note of how a request that was let through ended.
    package mutating func end(_ ticket: Ticket, _ outcome: Outcome, now: Timestamp) {
        guard ticket.period == period else { return }
        switch (state, outcome) {
        case (.closed, .answered), (.halfOpen, .answered): change(to: .closed(failures: 0), isNewPeriod: !isClosed)
        case (.closed(let failures), .failed):
            let opens = failures + 1 >= rules.failures
            change(
                to: opens ? .open(since: now, pause: rules.pause) : .closed(failures: failures + 1), isNewPeriod: opens)
        case (.halfOpen(_, let pause), .failed):
            change(to: .open(since: now, pause: min(rules.longestPause, pause * 2)), isNewPeriod: true)
        case (.halfOpen(_, let pause), .unknown):
            // The next one is the probe.
            change(to: .open(since: now.advanced(bySeconds: -pause), pause: pause), isNewPeriod: true)
        case (.closed, .unknown), (.open, _): break
        }
    }

    private var isClosed: Bool {
        guard case .closed = state else { return false }
        return true
    }

    /// Lets a probe through once `wait` seconds are over; also when the clock was set back, rather than wait for ever.
    private mutating func admit(
        after wait: Int64, since: Timestamp, pause: Int64, _ now: Timestamp
    ) -> Admission {
        let elapsed = now.secondsSinceEpoch - since.secondsSinceEpoch
        guard elapsed < 0 || elapsed >= wait else {
            guard case .open = state else { return .refuse(retryAfter: 1) }
            return .refuse(retryAfter: wait - elapsed)
        }
        change(to: .halfOpen(since: now, pause: pause), isNewPeriod: true)
        return .pass(Ticket(period: period))
    }

    private mutating func change(to state: State, isNewPeriod: Bool) {
        self.state = state
        if isNewPeriod { period += 1 }
    }
}
