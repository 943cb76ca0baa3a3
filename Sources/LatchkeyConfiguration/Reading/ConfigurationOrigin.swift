internal import Primitives

/// The place of a value.
public enum ConfigurationOrigin: Sendable, Hashable, CustomStringConvertible {
    /// The configuration file; lines count from 1.
    case file(path: String, line: Int?)
    /// The environment variable of this name.
    case environment(String)
    /// The option of the command line with this name.
    case commandLine(String)
    /// None: the value is the default, or is missing.
    case none

    /// The line of the configuration file; nil elsewhere.
    var line: Int? {
        guard case .file(_, let line) = self else { return nil }
        return line
    }

    /// For messages, on one line.
    public var description: String {
        switch self {
        case .file(let path, let line?): "\(Printable.line(path)) line \(line)"
        case .file(let path, nil): Printable.line(path)
        case .environment(let name), .commandLine(let name): Printable.line(name)
        case .none: "not set"
        }
    }
}

/// Texts that can be printed on one line.
enum Printable {
    /// The text without what could end a line or control a terminal, cut after 200 characters.
    static func line(_ text: String) -> String { text.onOneLine(upTo: 200) }

    /// The text, if it is a short word that a message can repeat because it cannot be a secret, such as `10x` or
    /// `requird`.
    static func word(_ text: String) -> String? { (1...16).contains(text.utf8.count) ? name(text) : nil }

    /// The text, if it can be the name of a key.
    static func name(_ text: String) -> String? {
        (1...64).contains(text.utf8.count) && text.consists(of: String.alphanumerics + "_-.") ? text : nil
    }
}

extension String {
    package static let lowerCaseAndDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
    package static let alphanumerics = lowerCaseAndDigits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    package func consists(of characters: String) -> Bool { utf8.allSatisfy(characters.utf8.contains) }
}
