import HTTPCore
import Primitives

/// The value of a Host field (RFC 9110 section 7.2): `host` or `host:port`, never empty.
enum HostField {
    static func isValid(_ bytes: Span<UInt8>, at range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return false }
        guard let end = endOfHost(bytes, at: range) else { return false }
        return end == range.upperBound || (bytes[end] == ASCII.colon && isPort(bytes, at: end + 1..<range.upperBound))
    }

    private static func endOfHost(_ bytes: Span<UInt8>, at range: Range<Int>) -> Int? {
        var index = range.lowerBound
        if bytes[index] == UInt8(ascii: "[") {
            while index < range.upperBound, bytes[index] != UInt8(ascii: "]") { index += 1 }
            guard index < range.upperBound else { return nil }
            let address = bytes.text(range.lowerBound + 1..<index)
            guard address.utf8.contains(ASCII.colon), IPAddress(address) != nil else { return nil }
            return index + 1
        }
        while index < range.upperBound, isNameCharacter(bytes[index]) { index += 1 }
        return index > range.lowerBound ? index : nil
    }

    /// Letters, digits, `-`, `.`, `_`: the names in use. RFC 3986 allows more.
    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    /// Decimal digits up to 65535, or none (RFC 3986 section 3.2.3).
    private static func isPort(_ bytes: Span<UInt8>, at range: Range<Int>) -> Bool {
        if range.isEmpty { return true }
        guard let port = bytes.decimal(range)?.number else { return false }
        return port <= 65535
    }
}
