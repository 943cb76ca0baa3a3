import Logging
import Primitives
import Synchronization

/// Limits the log lines that anyone can cause: ten in a minute. Of the others the next line has the number.
final class LogSampler: Sendable {
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

    /// The number of lines left out since the last one that was written; nil if this one is left out, too.
    func take(at now: Timestamp) -> Int? {
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
            defer { state.leftOut = 0 }
            return state.leftOut
        }
    }
}

extension LogSampler {
    /// Logs a refusal that anyone can cause, if it is not left out.
    func log(
        _ error: SignInError, _ message: Logger.Message, _ metadata: Logger.Metadata, to logger: Logger,
        at now: Timestamp
    ) {
        let level = error.fault.logLevel
        guard logger.logLevel <= level, let leftOut = take(at: now) else { return }
        var metadata = metadata
        metadata["outcome"] = "\(error.codeText)"
        metadata["reason"] = "\(error.description)"
        if leftOut > 0 { metadata["left_out"] = .stringConvertible(leftOut) }
        logger.log(level: level, message, metadata: metadata)
    }
}
