import Synchronization

/// Limits the log lines of one kind that anyone can cause: ten in a minute. Of the others the next line has the number.
package final class LogSampler: Sendable {
    /// The lines in one period.
    static let lines = 10
    /// In seconds.
    static let period: Int64 = 60

    private struct State {
        var beginning: Timestamp?
        var written = 0
        var leftOut = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of lines left out since the last one that was written; nil if this one is left out, too.
    package func take(at now: Timestamp) -> Int? {
        state.withLock { state in
            // A clock that was set back begins a period.
            if state.beginning.map({ now < $0 || now >= $0.advanced(bySeconds: Self.period) }) ?? true {
                state.beginning = now
                state.written = 0
            }
            guard state.written < Self.lines else {
                state.leftOut += 1
                return nil
            }
            state.written += 1
            return exchange(&state.leftOut, with: 0)
        }
    }
}
