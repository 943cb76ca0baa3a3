/// Host names in URLs.
package enum HostName {
    /// A DNS name (RFC 1123 section 2.1) in lower case, or nil: labels of 1 to 63 letters, digits and inner hyphens,
    /// 253 bytes in all, no trailing dot. An IPv4 address in dotted decimal counts as one.
    package static func normalized(_ text: Substring) -> String? {
        guard (1...253).contains(text.utf8.count) else { return nil }
        for label in text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard isLabel(label) else { return nil }
        }
        let lower = text.lowercased()
        // Many resolvers read a name that ends in a number as an address, in many notations. Only dotted decimal is
        // allowed.
        if let last = lower.utf8.split(separator: UInt8(ascii: ".")).last, isNumeric(last) {
            return isIPv4(lower) ? lower : nil
        }
        return lower
    }

    /// Whether a normalized host is a DNS name with a dot, rather than an address or a single label.
    package static func isNameOfSeveralLabels(_ host: String) -> Bool {
        host.utf8.contains(UInt8(ascii: ".")) && !isIPv4(host)
    }

    /// Whether two normalized hosts are names that end in the same two labels.
    package static func areOfOneDomain(_ host: String, _ other: String) -> Bool {
        guard isNameOfSeveralLabels(host), isNameOfSeveralLabels(other) else { return false }
        let dot = UInt8(ascii: ".")
        return host.utf8.split(separator: dot).suffix(2).elementsEqual(
            other.utf8.split(separator: dot).suffix(2), by: { $0.elementsEqual($1) })
    }

    /// Whether a normalized host is spelled as loopback: `localhost`, 127.0.0.0/8 or `::1`.
    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || (host.hasPrefix("127.") && isIPv4(host))
    }

    /// Four decimal numbers up to 255 without leading zeros.
    package static func isIPv4(_ text: String) -> Bool {
        !text.utf8.contains(UInt8(ascii: ":")) && IPAddress(text) != nil
    }

    /// An IPv6 address (RFC 4291 section 2.2) in lower case, the loopback address as `::1` however it was written; nil
    /// if the text is not one. A zone (`%eth0`) and a dotted IPv4 tail are refused: no provider needs them.
    package static func normalizedIPv6(_ text: Substring) -> String? {
        let text = text.lowercased()
        guard text.utf8.contains(UInt8(ascii: ":")), !text.utf8.contains(UInt8(ascii: ".")),
            let address = IPAddress(text)
        else { return nil }
        return address.high == 0 && address.low == 1 ? "::1" : text
    }

    /// Whether a resolver may read the last label as a number: digits, or `0x` and hexadecimal digits.
    private static func isNumeric(_ label: Substring.UTF8View) -> Bool {
        if Substring(label).isDecimal { return true }
        guard label.starts(with: "0x".utf8) else { return false }
        return label.dropFirst(2).allSatisfy { $0.hexadecimalValue != nil }
    }

    /// Whether bytes are 1 to 63 letters, digits and inner hyphens (RFC 5890 section 2.3.1), or others that are
    /// allowed.
    package static func isLabel(_ bytes: Substring.UTF8View, or isAllowed: (UInt8) -> Bool = { _ in false }) -> Bool {
        (1...63).contains(bytes.count) && bytes.allSatisfy { isLabelByte($0) || isAllowed($0) }
            && bytes.first != UInt8(ascii: "-") && bytes.last != UInt8(ascii: "-")
    }

    /// Whether a byte is a letter, a digit or a hyphen of ASCII.
    package static func isLabelByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-")
    }
}
