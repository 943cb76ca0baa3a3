extension String {
    /// The text without characters that could end the line or control a terminal, cut off if it is longer.
    package func onOneLine(upTo maximumCharacters: Int = 2000) -> String {
        var line = ""
        for scalar in unicodeScalars.prefix(maximumCharacters) {
            line.unicodeScalars.append(scalar.controlsTerminal ? "\u{FFFD}" : scalar)
        }
        return unicodeScalars.count > maximumCharacters ? line + "…" : line
    }
}

extension Unicode.Scalar {
    /// Whether it is a control, a format (as marks of direction), or a separator of lines or paragraphs. Those in JSON
    /// text without white space are within strings.
    package var controlsTerminal: Bool {
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
    }
}

package enum HTML {
    /// Escapes the characters that can end a text or an attribute's value.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        escaped.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
