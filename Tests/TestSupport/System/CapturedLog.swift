package import Logging
import Synchronization

/// Keeps all log lines of its level and above.
package final class CapturedLog: Sendable {
    package struct Line: Sendable {
        package let level: Logger.Level
        package let message: String
        package let metadata: [String: String]
    }

    private let captured = Mutex<[Line]>([])
    private let level: Logger.Level

    package init(level: Logger.Level = .trace) { self.level = level }

    package var lines: [Line] { captured.withLock { $0 } }

    /// The lines of sign-ins.
    package var signIns: [Line] { lines.filter { $0.message.hasPrefix("sign-in") } }

    /// All lines in one text.
    package var text: String {
        lines.map { line in
            line.message + " " + line.metadata.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        }.joined(separator: "\n")
    }

    package var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(log: self) }
        logger.logLevel = level
        return logger
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
            let line = Line(
                level: event.level, message: "\(event.message)", metadata: all.mapValues { "\($0)" })
            log.captured.withLock { $0.append(line) }
        }
    }
}
