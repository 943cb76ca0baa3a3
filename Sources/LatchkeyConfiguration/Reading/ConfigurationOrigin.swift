/// Where a value stands.
public enum ConfigurationOrigin: Sendable, Hashable, CustomStringConvertible {
    /// In the configuration file; the line counts from 1.
    case file(path: String, line: Int?)
    /// In an environment variable of this name.
    case environment(String)
    /// Nowhere: it is the default, or is missing.
    case none

    public var description: String {
        switch self {
        case .file(let path, let line?): "\(Printable.line(path)) line \(line)"
        case .file(let path, nil): Printable.line(path)
        case .environment(let name): Printable.line(name)
        case .none: "not set"
        }
    }
}

/// Makes texts fit to be printed on one line.
enum Printable {
    /// The text without control characters, and cut where it is very long.
    static func line(_ text: String) -> String {
        let limit = 200
        var line = ""
        for scalar in text.unicodeScalars.prefix(limit) {
            let isControl =
                scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
            line.unicodeScalars.append(isControl ? "\u{FFFD}" : scalar)
        }
        return text.unicodeScalars.count > limit ? line + "…" : line
    }

    /// The text, if it is a plain word that a message can repeat: no one's secret looks like `10x` or `requird`.
    static func word(_ text: String) -> String? {
        guard (1...16).contains(text.utf8.count) else { return nil }
        return text.utf8.allSatisfy(isWordByte) ? text : nil
    }

    /// The text, if it is spelled as a name of a key can be.
    static func name(_ text: String) -> String? {
        guard (1...64).contains(text.utf8.count) else { return nil }
        return text.utf8.allSatisfy(isWordByte) ? text : nil
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
