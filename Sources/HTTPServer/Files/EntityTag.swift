import HTTPCore

/// Entity tags (RFC 9110 section 8.8.3). This server's are strong.
package enum EntityTag {
    /// Whether a list of tags, or `*`, contains a tag by weak comparison, as If-None-Match requires.
    package static func list(_ values: [String], has tag: String) -> Bool {
        values.contains { value in
            var rest = Substring(value).utf8.drop(while: ASCII.isWhitespace)
            if rest.elementsEqual("*".utf8) { return true }
            while let found = next(in: &rest) {
                if found == tag { return true }
            }
            return false
        }
    }

    /// Removes the next tag from a list, without `W/`; nil at the end, or at a malformed tag.
    private static func next(in rest: inout Substring.UTF8View) -> String? {
        rest = rest.drop { ASCII.isWhitespace($0) || $0 == UInt8(ascii: ",") }
        if rest.starts(with: "W/".utf8) { rest = rest.dropFirst(2) }
        guard rest.first == UInt8(ascii: "\""), let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\"")) else {
            return nil
        }
        let tag = rest[...end]
        rest = rest[rest.index(after: end)...]
        return String(tag)
    }
}
