package import Logging
package import Primitives
import Synchronization

/// Writes the log lines that anyone can cause: ten of each kind in a minute, so that a flood of one kind hides no
/// other. The next line of a kind has the number of those that were left out, in `left_out`. A log at `debug` has all.
package final class LogSamplers: Sendable {
    /// Beyond it, all other kinds are sampled as one.
    private static let maximumKinds = 1024

    private let clock: WallClock
    private let samplers = Mutex<[String: LogSampler]>([:])

    package init(clock: WallClock) { self.clock = clock }

    /// Logs a line, if it is not left out.
    /// - Parameter kind: What is sampled together: a text of this program or of the configuration, not of a request.
    package func log(
        _ level: Logger.Level, _ message: Logger.Message, of kind: String, to logger: Logger,
        _ metadata: () -> Logger.Metadata
    ) {
        guard logger.logLevel <= level else { return }
        let isWhole = logger.logLevel <= .debug
        guard let leftOut = isWhole ? 0 : sampler(of: kind).take(at: clock.now()) else { return }
        var metadata = metadata()
        if leftOut > 0 { metadata["left_out"] = .stringConvertible(leftOut) }
        logger.log(level: level, message, metadata: metadata)
    }

    private func sampler(of kind: String) -> LogSampler {
        samplers.withLock { samplers in
            let kind = samplers[kind] != nil || samplers.count < Self.maximumKinds ? kind : ""
            if let sampler = samplers[kind] { return sampler }
            let sampler = LogSampler()
            samplers[kind] = sampler
            return sampler
        }
    }
}

extension LogSamplers {
    /// Logs a refusal at a provider. Each provider has lines of its own.
    func log(
        _ error: SignInError, _ message: Logger.Message, at provider: String?, _ metadata: Logger.Metadata,
        to logger: Logger
    ) {
        log(error.fault.logLevel, message, of: "\(message) \(provider ?? "")", to: logger) {
            var metadata = metadata
            if let provider { metadata["provider"] = "\(provider)" }
            metadata["outcome"] = "\(error.codeText)"
            metadata["reason"] = "\(error.description)"
            return metadata
        }
    }
}
