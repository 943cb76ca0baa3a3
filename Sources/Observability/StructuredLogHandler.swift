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

/// How a log line is written.
public enum LogFormat: String, Sendable, CaseIterable {
    /// For people: `2026-11-21T01:02:03Z info signed in provider=zenkey`.
    case text
    /// For programs: one JSON object per line, with `time`, `level`, `message`, `logger` and the metadata's members.
    /// Numbers are numbers.
    case json

    /// The bytes of a line, without a line feed. Line feeds in a message or in metadata are replaced.
    package func line(
        at time: Timestamp, level: Logger.Level, label: String, message: String, metadata: [(String, LogValue)]
    ) -> [UInt8] {
        switch self {
        case .text:
            var line: [UInt8] = []
            line.reserveCapacity(512)
            line.append(contentsOf: UTCTime.text(time).utf8)
            for text in [level.shortName, LogText.oneLine(message)] {
                line.append(UInt8(ascii: " "))
                line.append(contentsOf: text.utf8)
            }
            for (name, value) in metadata {
                line.append(UInt8(ascii: " "))
                line.append(contentsOf: name.utf8)
                line.append(UInt8(ascii: "="))
                line.append(contentsOf: LogText.value(value.text).utf8)
            }
            return line
        case .json:
            var json = JSONObjectWriter()
            json.add("time", UTCTime.text(time))
            json.add("level", level.shortName)
            json.add("message", message)
            json.add("logger", label)
            for (name, value) in metadata where !LogFormat.ownMembers.contains(name) {
                switch value {
                case .text(let text): json.add(named: name, text)
                case .number(let digits): json.add(named: name, json: digits)
                }
            }
            return json.finish()
        }
    }

    private static let ownMembers: Set<String> = ["time", "level", "message", "logger"]
}

package enum LogValue: Sendable, Hashable {
    case text(String)
    /// As JSON writes it.
    case number(String)

    /// A value of metadata. A number is one that was given as such, with `.stringConvertible`; a text of digits stays a
    /// text.
    package init(_ value: Logger.MetadataValue) {
        guard case .stringConvertible(let convertible) = value else {
            self = .text("\(value)")
            return
        }
        switch convertible {
        case let number as any BinaryInteger: self = .number("\(number)")
        case let number as Double where number.isFinite: self = .number("\(number)")
        default: self = .text("\(value)")
        }
    }

    var text: String {
        switch self {
        case .text(let text), .number(let text): text
        }
    }
}

extension Logger.Level {
    /// The mobile SDKs' name of the level (`error warn info verbose`), if there is one.
    package var shortName: String {
        switch self {
        case .debug: "verbose"
        case .warning: "warn"
        default: rawValue
        }
    }
}

/// Texts of lines for people.
enum LogText {
    /// The text without line feeds and control characters.
    static func oneLine(_ text: String) -> String {
        guard text.utf8.contains(where: isControl) else { return text }
        return String(decoding: text.utf8.map { isControl($0) ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }

    /// The value, in quotation marks if it has spaces or is empty.
    static func value(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
        if isPlain { return text }
        let quoted = oneLine(text).split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "'")
        return "\"\(quoted)\""
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
}
