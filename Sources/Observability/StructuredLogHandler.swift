public import Logging
public import Primitives

/// Writes log lines in a ``LogFormat`` to a ``LogSink``.
///
/// Nothing here looks for secrets: they are kept out of messages and metadata where those are made, by being of the
/// type `Secret`, which prints as redacted.
public struct StructuredLogHandler: LogHandler {
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    /// The level of this handler and its copies alone, if one was set.
    private var ownLevel: Logger.Level?
    private let threshold: LogThreshold
    private let label: String
    private let format: LogFormat
    private let sink: LogSink
    private let clock: WallClock

    public init(label: String, level: Logger.Level, format: LogFormat, sink: LogSink, clock: WallClock = .system) {
        self.init(label: label, threshold: LogThreshold(level), format: format, sink: sink, clock: clock)
    }

    /// - Parameter threshold: What is logged, now and whenever it changes, unless ``logLevel`` is set.
    public init(
        label: String, threshold: LogThreshold, format: LogFormat, sink: LogSink, clock: WallClock = .system
    ) {
        self.threshold = threshold
        self.label = label
        self.format = format
        self.sink = sink
        self.clock = clock
    }

    public var logLevel: Logger.Level {
        get { ownLevel ?? threshold.loggerLevel }
        set { ownLevel = newValue }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        guard ownLevel != nil || threshold.level != nil else { return }
        var members = metadata
        if let provided = metadataProvider?.get() { members.merge(provided) { _, new in new } }
        if let own = event.metadata { members.merge(own) { _, new in new } }
        let sorted = members.map { ($0.key, "\($0.value)") }.sorted { $0.0 < $1.0 }
        sink.write(
            format.line(
                at: clock.now(), level: event.level, label: label, message: event.message.description, metadata: sorted)
        )
    }
}

extension Logger.MetadataProvider {
    /// The trace that a request is of, as `trace_id`; nothing where it came without one.
    public static let ofTrace = Logger.MetadataProvider {
        TraceContext.current.map { ["trace_id": "\($0.traceID)"] } ?? [:]
    }
}
