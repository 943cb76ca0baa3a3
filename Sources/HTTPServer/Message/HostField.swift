import Glibc
import HTTPCore

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
            guard index < range.upperBound, isIPv6(bytes.text(range.lowerBound + 1..<index)) else {
                return nil
            }
            return index + 1
        }
        while index < range.upperBound, isNameCharacter(bytes[index]) { index += 1 }
        return index > range.lowerBound ? index : nil
    }

    /// Letters, digits, `-`, `.`, `_`: the names in use. RFC 3986 allows more.
    private static func isNameCharacter(_ byte: UInt8) -> Bool {
        ASCII.isDigit(byte)
            || (ASCII.lowercased(byte) >= UInt8(ascii: "a") && ASCII.lowercased(byte) <= UInt8(ascii: "z"))
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    private static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    /// Decimal digits up to 65535, or none (RFC 3986 section 3.2.3).
    private static func isPort(_ bytes: Span<UInt8>, at range: Range<Int>) -> Bool {
        var port = 0
        for index in range {
            guard ASCII.isDigit(bytes[index]) else { return false }
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
            guard port <= 65535 else { return false }
        }
        return true
    }
}
