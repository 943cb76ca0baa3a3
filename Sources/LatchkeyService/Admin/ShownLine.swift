/// Texts of others that are safe on a terminal.
package enum ShownLine {
    package static func text(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars.prefix(2000) {
            let category = scalar.properties.generalCategory
            let isUnsafe = [.control, .format, .lineSeparator, .paragraphSeparator].contains(category)
            line.unicodeScalars.append(isUnsafe ? "\u{FFFD}" : scalar)
        }
        return text.unicodeScalars.count > 2000 ? line + "…" : line
    }
}

extension String {
    /// With spaces up to a width, at least one.
    package func padded(_ width: Int) -> String {
        self + String(repeating: " ", count: max(1, width - utf8.count))
    }
}
