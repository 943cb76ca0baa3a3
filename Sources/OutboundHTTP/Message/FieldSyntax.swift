/// Character classes of header fields.
enum FieldSyntax {
    // A bit for each ASCII character that is a `tchar` (RFC 9110 section 5.6.2).
    private static let lowTokens: UInt64 = 0x3FF_6CFA_0000_0000
    private static let highTokens: UInt64 = 0x57FF_FFFF_C7FF_FFFE

    /// Whether a byte may be in a field name.
    static func isToken(_ byte: UInt8) -> Bool {
        guard byte < 128 else { return false }
        return (byte < 64 ? lowTokens : highTokens) >> UInt64(byte & 63) & 1 == 1
    }

    /// Whether a byte may be in a field value (RFC 9110 section 5.5): visible characters, space, tab, and bytes above
    /// 127.
    static func isFieldValue(_ byte: UInt8) -> Bool { (byte >= 0x20 && byte != 0x7F) || byte == 0x09 }

    static func isWhitespace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
}

extension Span<UInt8> {
    /// The index of the first line feed from an index on.
    func lineFeed(from start: Int) -> Int? {
        var index = start
        while index < count {
            if self[index] == 0x0A { return index }
            index += 1
        }
        return nil
    }

    /// Compares without regard to case; `lowercase` must be in lower case.
    func equals(_ range: Range<Int>, _ lowercase: StaticString) -> Bool {
        guard range.count == lowercase.utf8CodeUnitCount else { return false }
        return lowercase.withUTF8Buffer { expected in
            for offset in 0..<range.count {
                let byte = self[range.lowerBound + offset]
                let folded = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
                guard folded == expected[offset] else { return false }
            }
            return true
        }
    }

    /// The range without white space at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, FieldSyntax.isWhitespace(self[start]) { start += 1 }
        while end > start, FieldSyntax.isWhitespace(self[end - 1]) { end -= 1 }
        return start..<end
    }

    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
