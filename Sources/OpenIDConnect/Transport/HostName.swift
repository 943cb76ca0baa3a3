/// Host names as URLs carry them.
enum HostName {
    /// A DNS name (RFC 1123 section 2.1) in lower case, or nil: labels of 1 to 63 letters, digits and inner hyphens,
    /// 253 bytes in all, no trailing dot. An IPv4 address in dotted decimals is one too.
    static func normalized(_ text: Substring) -> String? {
        guard (1...253).contains(text.utf8.count) else { return nil }
        for label in text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard (1...63).contains(label.count), label.allSatisfy(isLabelByte),
                label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-")
            else { return nil }
        }
        let lower = text.lowercased()
        // A name that ends in a number is read as an address by many resolvers, in many notations; one is enough.
        if let last = lower.utf8.split(separator: UInt8(ascii: ".")).last, isNumeric(last) {
            return isIPv4(lower) ? lower : nil
        }
        return lower
    }

    /// Whether a normalized host is a DNS name with a dot in it, rather than an address or a bare label.
    static func isNameOfSeveralLabels(_ host: String) -> Bool {
        host.utf8.contains(UInt8(ascii: ".")) && !isIPv4(host)
    }

    /// Whether two normalized hosts are names that end in the same two labels.
    static func areOfOneDomain(_ host: String, _ other: String) -> Bool {
        guard isNameOfSeveralLabels(host), isNameOfSeveralLabels(other) else { return false }
        let dot = UInt8(ascii: ".")
        return host.utf8.split(separator: dot).suffix(2).elementsEqual(
            other.utf8.split(separator: dot).suffix(2), by: { $0.elementsEqual($1) })
    }

    /// Whether a normalized host is loopback by its own spelling.
    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || (isIPv4(host) && host.hasPrefix("127."))
    }

    /// Four decimal numbers up to 255 without leading zeros.
    static func isIPv4(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return false }
        return parts.allSatisfy { part in
            guard (1...3).contains(part.count), part.allSatisfy(isDigit) else { return false }
            guard part.count == 1 || part.first != UInt8(ascii: "0") else { return false }
            return part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 255
        }
    }

    /// Whether the last label would be taken for a number: digits, or `0x` and hexadecimal digits.
    private static func isNumeric(_ label: Substring.UTF8View) -> Bool {
        if label.allSatisfy(isDigit) { return true }
        guard label.starts(with: "0x".utf8) else { return false }
        return label.dropFirst(2).allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLabelByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"): true
        default: isDigit(byte)
        }
    }
}
