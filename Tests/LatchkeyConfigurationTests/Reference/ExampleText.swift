/// The text of `Config/latchkey.example.yaml`.
enum ExampleText {
    /// The text with every setting uncommented: lines that begin, after their indentation, with `#` and no space or,
    /// within a list or group that is commented out, `#` and the list's indentation.
    static func uncommented(_ text: String) -> String {
        var isInBlock = false
        return text.split(separator: "\n", omittingEmptySubsequences: false).map { (line) -> String in
            let indentation = line.prefix { $0 == " " }
            let rest = line.dropFirst(indentation.count)
            guard rest.hasPrefix("#") else {
                isInBlock = false
                return String(line)
            }
            let text = rest.dropFirst()
            let isSetting = !text.isEmpty && !text.hasPrefix(" ")
            guard isSetting || (isInBlock && text.hasPrefix("  ")) else { return String(line) }
            if isSetting { isInBlock = text.hasSuffix(":") }
            return String(indentation + text)
        }.joined(separator: "\n")
    }
}
