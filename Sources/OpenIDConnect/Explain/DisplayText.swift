import Primitives

/// Values of a token as an explanation shows them: on one line, and cut off if they are long.
package enum DisplayText {
    private static let maximumCharacters = 120

    /// A text between guillemets; the kind of any other value.
    static func value(_ value: JSONValue?) -> String {
        switch value {
        case nil: "absent"
        case .string(let text): "«\(line(text))»"
        case .integer, .number: "a number"
        case .bool: "true or false"
        case .null: "null"
        case .object: "an object"
        case .array(let elements): list(elements)
        }
    }

    /// The kind of a value and its length, for values that are personal.
    static func shape(_ value: JSONValue?) -> String {
        guard case .string(let text) = value else { return value == nil ? "absent" : Self.value(value) }
        return text.utf8.count == 1 ? "1 byte long" : "\(text.utf8.count) bytes long"
    }

    /// A text on one line.
    package static func line(_ text: String) -> String { text.onOneLine(upTo: maximumCharacters) }

    private static func list(_ elements: [JSONValue]) -> String {
        let shown = elements.prefix(3).map { element in
            if case .array(let inner) = element { return "an array of \(inner.count)" }
            return value(element)
        }
        let rest = elements.count > shown.count ? ", …" : ""
        return "an array of \(elements.count)" + (shown.isEmpty ? "" : ": \(shown.joined(separator: ", "))\(rest)")
    }
}
