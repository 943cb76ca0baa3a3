package import Logging
package import Primitives

/// How a log line is written.
public enum LogFormat: String, Sendable, CaseIterable {
    /// For people: `2026-11-21T01:02:03Z info signed in carrier=310010`.
    case text
    /// For programs: one JSON object per line, with `time`, `level`, `message`, `logger` and the metadata's members.
    case json

    /// The bytes of a line, without a line feed. Line feeds in a message or in metadata are replaced.
    package func line(
        at time: Timestamp, level: Logger.Level, label: String, message: String, metadata: [(String, String)]
    ) -> [UInt8] {
        switch self {
        case .text:
            var line = "\(UTCTime.text(time)) \(level.shortName) \(LogText.oneLine(message))"
            for (name, value) in metadata { line += " \(name)=\(LogText.value(value))" }
            return Array(line.utf8)
        case .json:
            var json = JSONObjectWriter()
            json.add("time", UTCTime.text(time))
            json.add("level", level.shortName)
            json.add("message", message)
            json.add("logger", label)
            for (name, value) in metadata where !LogFormat.ownMembers.contains(name) { json.add(named: name, value) }
            return json.finish()
        }
    }

    private static let ownMembers: Set<String> = ["time", "level", "message", "logger"]
}

extension Logger.Level {
    /// The mobile SDKs' name of the level (`error warn info verbose`), if there is one.
    package var shortName: String {
        switch self {
        case .trace: "trace"
        case .debug: "verbose"
        case .info: "info"
        case .notice: "notice"
        case .warning: "warn"
        case .error: "error"
        case .critical: "critical"
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
