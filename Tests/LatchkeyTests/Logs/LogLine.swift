import Testing

/// A line of the server's log, in its format for people.
struct LogLine: Sendable {
    /// Of all lines of a text.
    static func all(in text: String) -> [LogLine] { text.split(separator: "\n").map { LogLine(String($0)) } }

    let text: String
    private var fields: [String: String] = [:]

    init(_ text: String) {
        self.text = text
        var rest = text[...]
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].split(separator: " ").last.map(String.init) ?? ""
            rest = rest[rest.index(after: equals)...]
            let isQuoted = rest.first == "\""
            if isQuoted { rest = rest.dropFirst() }
            let end = rest.firstIndex(of: isQuoted ? "\"" : " ") ?? rest.endIndex
            fields[name] = String(rest[..<end])
            rest = rest[end...]
        }
    }

    subscript(name: String) -> String? { fields[name] }
}
