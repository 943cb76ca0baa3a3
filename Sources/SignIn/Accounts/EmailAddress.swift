import Primitives

/// A deliverable e-mail address: the subset of RFC 5321 without comments, quotes and address literals.
///
/// Its domain must be spelled as it is looked up, apart from letter case. An address with full-width letters, a soft
/// hyphen or another full stop reaches the same mailbox as the plain one, and would bypass a list of blocked domains.
struct EmailAddress: Sendable, Hashable {
    /// In lower case.
    let domain: String

    /// Nil unless the text is an address: at most 254 bytes, 1 to 64 of them before the `@`, and after it a name of two
    /// or more labels.
    init?(_ text: String) {
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

    private static func isDomain(_ text: Substring) -> Bool {
        let labels = text.split(ascii: ".", omittingEmptySubsequences: false)
        return labels.count >= 2 && labels.allSatisfy { isLabel($0.utf8) }
    }

    /// Letters and digits, with hyphens between them. Non-ASCII letters may belong to an internationalised name (RFC
    /// 6531).
    private static func isLabel(_ label: Substring.UTF8View) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard (1...63).contains(label.count), label.first != hyphen, label.last != hyphen else { return false }
        return label.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), hyphen, 0x80...:
                true
            default: false
            }
        }
    }

    /// Whether IDNA (RFC 5895, UTS #46) keeps a scalar of a lower-case name as it is, including the sharp s and the
    /// final sigma, which are letters of their own now.
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
