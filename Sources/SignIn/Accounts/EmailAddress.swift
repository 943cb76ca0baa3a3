import CLatchkeyIDN
import Primitives

/// A deliverable e-mail address: the subset of RFC 5321 without comments, quotes and address literals.
///
/// Its domain must be spelled as it is looked up, apart from letter case. An address with full-width letters, a soft
/// hyphen or another full stop reaches the same mailbox as the plain one, and would bypass a list of blocked domains.
package struct EmailAddress: Sendable, Hashable {
    /// In lower case.
    package let domain: String

    /// Nil unless the text is an address: at most 254 bytes, 1 to 64 of them before the `@`, and after it a name of two
    /// or more labels.
    package init?(_ text: String) {
        let parts = text.split(ascii: "@", omittingEmptySubsequences: false)
        guard text.utf8.count <= 254, parts.count == 2, let local = parts.first, let domain = parts.last,
            Self.isLocalPart(local), Self.isDomain(domain), domain.lowercased().unicodeScalars.allSatisfy(Self.isPlain)
        else { return nil }
        self.domain = domain.lowercased()
    }

    private static func isLocalPart(_ text: Substring) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.split(ascii: ".", omittingEmptySubsequences: false).allSatisfy { atom in
                !atom.isEmpty && atom.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && !specials.contains($0) }
            }
    }

    /// Non-ASCII letters may belong to an internationalised name (RFC 6531).
    private static func isDomain(_ text: Substring) -> Bool {
        let labels = text.split(ascii: ".", omittingEmptySubsequences: false)
        return labels.count >= 2 && labels.allSatisfy { HostName.isLabel($0.utf8) { $0 >= 0x80 } }
    }

    /// Whether IDNA (RFC 5895, UTS #46) keeps a scalar of a lower-case name as it is, including the sharp s and the
    /// final sigma, which are separate letters now.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII || scalar == "\u{DF}" || scalar == "\u{3C2}" { return true }
        guard !scalar.properties.changesWhenNFKCCaseFolded else { return false }
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: return true
        default: return false
        }
    }

    /// RFC 5322 section 3.2.3, without the dot.
    private static let specials = Array("()<>[]:;@\\,\"".utf8)
}

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
        return label.hasPrefix("xn--") ? aLabel(text) : HostName.isLabel(label[...].utf8) ? label : nil
    }

    private static func isASCII(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    /// Normalizes a U-label or an A-label (UTS #46). The sharp s and the final sigma are separate letters. The
    /// rules of host names, of scripts from right to left (RFC 5893) and of joiners (RFC 5892 appendix A) hold.
    private static func aLabel(_ text: Substring) -> String? {
        // libidn2 drops some ASCII characters that host names cannot have.
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ $0 >= 0x80 || HostName.isLabelByte($0) })
        else { return nil }
        let flags = IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue | IDN2_USE_STD3_ASCII_RULES.rawValue
        var result: UnsafeMutablePointer<UInt8>?
        let status = idn2_lookup_u8(Array(text.utf8) + [0], &result, CInt(flags))
        guard status == IDN2_OK.rawValue, let result else { return nil }
        defer { idn2_free(result) }
        let label = String(cString: result).lowercased()
        return HostName.isLabel(label[...].utf8) ? label : nil
    }
}
