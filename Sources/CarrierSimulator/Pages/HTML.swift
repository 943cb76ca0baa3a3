/// Markup. Interpolated text is escaped; interpolated markup is not.
///
/// ```swift
/// let greeting: HTML = "<p>Hello, \(name)</p>"
/// ```
struct HTML: Sendable {
    private(set) var source: String

    /// The text with character references in place of the characters that have a meaning in text or attributes.
    static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}

extension HTML: ExpressibleByStringInterpolation {
    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var source = ""

        init(literalCapacity: Int, interpolationCount: Int) {
            source.reserveCapacity(literalCapacity + interpolationCount * 16)
        }

        mutating func appendLiteral(_ literal: String) { source += literal }
        mutating func appendInterpolation(_ text: String) { source += HTML.escaped(text) }
        mutating func appendInterpolation(_ html: HTML) { source += html.source }
        mutating func appendInterpolation(_ parts: [HTML]) { for part in parts { source += part.source } }
    }

    init(stringLiteral source: String) { self.source = source }
    init(stringInterpolation: StringInterpolation) { source = stringInterpolation.source }
}
