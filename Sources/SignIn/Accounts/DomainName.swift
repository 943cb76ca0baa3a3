import CLatchkeyIDN
import Primitives

/// Domain names in the form in which they are compared: A-labels (RFC 5890 section 2.3.2.1) in lower case, without the
/// dot of the root. `münchen.example` and `XN--MNCHEN-3YA.example.` are one domain.
package enum DomainName {
    /// The form of a name of two or more labels; nil if a label is none that can be looked up.
    package static func canonical(_ text: String) -> String? {
        let labels = Self.labels(of: text)
        let converted = labels.compactMap(label)
        guard labels.count >= 2, converted.count == labels.count else { return nil }
        let name = converted.joined(separator: ".")
        return name.utf8.count <= 253 ? name : nil
    }

    /// The form of a name that may have invalid labels. Such a label equals only itself; the domains above it are still
    /// recognized.
    static func comparable(_ text: String) -> String {
        // The usual name costs no more than its lower case.
        if isASCII(text), !text.hasSuffix(".") { return text.lowercased() }
        return labels(of: text).map { label($0) ?? $0.lowercased() }.joined(separator: ".")
    }

    private static func labels(of text: String) -> [Substring] {
        let name = text.hasSuffix(".") ? text.dropLast() : text[...]
        return name.split(ascii: ".", omittingEmptySubsequences: false)
    }

    /// One label as an A-label, or as an LDH label (RFC 5890 section 2.3.1); nil if it is neither. Each label is
    /// converted by itself, so that an invalid one does not hide the others.
    private static func label(_ text: Substring) -> String? {
        guard isASCII(text) else { return aLabel(text) }
        let label = text.lowercased()
        return label.hasPrefix("xn--") ? aLabel(text) : isLDH(label) ? label : nil
    }

    private static func isASCII(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    private static func isLDH(_ label: String) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard (1...63).contains(label.utf8.count), label.utf8.first != hyphen, label.utf8.last != hyphen else {
            return false
        }
        return label.utf8.allSatisfy(isLDH)
    }

    /// Whether a byte is a letter, a digit or a hyphen of ASCII.
    private static func isLDH(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Normalizes a U-label or an A-label (UTS #46). The sharp s and the final sigma are letters of their own. The
    /// rules of host names, of scripts from right to left (RFC 5893) and of joiners (RFC 5892 appendix A) hold.
    private static func aLabel(_ text: Substring) -> String? {
        // libidn2 drops some ASCII characters that host names cannot have.
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x80 || isLDH($0) }) else { return nil }
        let flags = IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue | IDN2_USE_STD3_ASCII_RULES.rawValue
        var result: UnsafeMutablePointer<UInt8>?
        let status = idn2_lookup_u8(Array(text.utf8) + [0], &result, CInt(flags))
        guard status == IDN2_OK.rawValue, let result else { return nil }
        defer { idn2_free(result) }
        let label = String(cString: result).lowercased()
        return isLDH(label) ? label : nil
    }
}
