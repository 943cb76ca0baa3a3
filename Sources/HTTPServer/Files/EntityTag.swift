import HTTPCore
import Primitives

/// Entity tags (RFC 9110 section 8.8.3). This server's are strong.
package enum EntityTag {
    /// Whether a list of tags, or `*`, contains one of a content's tags by weak comparison, as If-None-Match requires.
    package static func list(_ values: [String], has tags: String...) -> Bool {
        values.contains { value in
            value.withBytes { bytes in
                var rest = bytes[...].drop(while: ASCII.isWhitespace)
                if rest.elementsEqual("*".utf8) { return true }
                while let found = next(in: &rest) {
                    if tags.contains(where: { found.elementsEqual($0.utf8) }) { return true }
                }
                return false
            }
        }
    }

    /// Removes the next tag from a list, without `W/`; nil at the end, or at a malformed tag.
    private static func next(in rest: inout Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>>? {
        rest = rest.drop { ASCII.isWhitespace($0) || $0 == UInt8(ascii: ",") }
        if rest.starts(with: "W/".utf8) { rest = rest.dropFirst(2) }
        guard rest.first == UInt8(ascii: "\""), let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\"")) else {
            return nil
        }
        let tag = rest[...end]
        rest = rest[(end + 1)...]
        return tag
    }
}
