package import Logging
package import Primitives
import Synchronization

/// Writes log lines in a ``LogFormat`` to a ``LogSink``.
///
/// It does not search for secrets: the type `Secret` prints as redacted.
package struct StructuredLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    /// The level of this handler and its copies, if it was set.
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    private let label: String
    private let format: LogFormat
    private let sink: LogSink
    private let clock: WallClock

    /// - Parameter threshold: Decides what is logged unless ``logLevel`` is set.
    package init(label: String, threshold: LogThreshold, format: LogFormat, sink: LogSink, clock: WallClock = .system) {
        self.threshold = threshold
        self.label = label
        self.format = format
        self.sink = sink
        self.clock = clock
    }

    /// What loggers check before they make a line.
    package var logLevel: Logger.Level {
        get { ownLevel ?? threshold.level ?? .critical }
        set { ownLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        guard ownLevel != nil || threshold.level != nil else { return }
        // Into the line's own metadata, because the others are mostly empty.
        var members = event.metadata ?? [:]
        if let provided = metadataProvider?.get() { members.merge(provided) { own, _ in own } }
        members.merge(metadata) { own, _ in own }
        let sorted = members.map { ($0.key, LogValue($0.value)) }.sorted { $0.0 < $1.0 }
        sink.write(
            format.line(
                at: clock.now(), level: event.level, label: label, message: event.message.description, metadata: sorted)
        )
    }
}

extension Logger.MetadataProvider {
    /// The trace of the current request as `trace_id`, if there is one.
    package static let ofTrace = Logger.MetadataProvider {
        TraceContext.current.map { ["trace_id": "\($0.traceID)"] } ?? [:]
    }
}

/// The lowest severity that is logged, shared by loggers. It may change while they log.
package final class LogThreshold: Sendable {
    private static let levels = Logger.Level.allCases
    /// Above every level: nothing is logged.
    private static let off = levels.count

    private let value: Atomic<Int>

    /// - Parameter level: Nil for nothing.
    package init(_ level: Logger.Level?) { value = Atomic(Self.number(level)) }

    /// The level; nil if nothing is logged.
    package var level: Logger.Level? {
        get {
            let value = value.load(ordering: .relaxed)
            return Self.levels.indices.contains(value) ? Self.levels[value] : nil
        }
        set { value.store(Self.number(newValue), ordering: .relaxed) }
    }

    private static func number(_ level: Logger.Level?) -> Int {
        level.flatMap { levels.firstIndex(of: $0) } ?? off
    }
}
