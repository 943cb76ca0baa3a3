/// Bytes as characters of ASCII. They are inlined into other modules, which ask for each byte of a message.
extension UInt8 {
    @inlinable @inline(__always)
    package var isASCIILetter: Bool { self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z") }

    /// Whether it is a digit.
    @inlinable @inline(__always)
    public var isASCIIDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    /// Whether it is a letter or a digit.
    @inlinable @inline(__always)
    package var isASCIILetterOrDigit: Bool { isASCIILetter || isASCIIDigit }

    /// Whether it is a visible character: VCHAR of RFC 5234 appendix B.1.
    @inlinable @inline(__always)
    package var isVisibleASCII: Bool { self > UInt8(ascii: " ") && self <= UInt8(ascii: "~") }

    /// Whether it is a visible character or a space.
    @inlinable @inline(__always)
    package var isPrintableASCII: Bool { self >= UInt8(ascii: " ") && self <= UInt8(ascii: "~") }

    /// Whether a token may have it (RFC 9110 section 5.6.2): letters, digits and ! # $ % & ' * + - . ^ _ ` | ~
    @inlinable @inline(__always)
    package var isToken: Bool {
        // A bit for each character.
        let (low, high): (UInt64, UInt64) = (0x3FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE)
        return self < 128 && (self < 64 ? low : high) >> UInt64(self & 63) & 1 == 1
    }

    /// The lower-case letter of a capital one; any other byte as it is.
    @inlinable @inline(__always)
    public var lowercasedASCII: UInt8 { self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self }
}

extension Substring.UTF8View {
    /// The text without blanks and tabs at its ends.
    package var trimmed: Substring.UTF8View { trimmed(of: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) }

    /// The text without some bytes at its ends.
    package func trimmed(of isBlank: (UInt8) -> Bool) -> Substring.UTF8View {
        var text = drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }
}

extension String {
    /// Whether all characters are ASCII.
    public var isASCII: Bool { withBytes { $0.allSatisfy { $0 < 0x80 } } }

    /// Whether the text is 1 to so many visible ASCII characters: the form of subjects, ids and tokens.
    package func isVisibleASCII(upTo maximum: Int = .max) -> Bool {
        (1...maximum).contains(utf8.count) && withBytes { $0.allSatisfy(\.isVisibleASCII) }
    }
}

extension StringProtocol {
    @inlinable
    package var isDecimal: Bool { !isEmpty && utf8.allSatisfy(\.isASCIIDigit) }
}

/// Reads media types of header fields (RFC 9110 section 8.3.1).
public enum MediaTypeText {
    /// Type and subtype in lower case, without parameters and surrounding blanks. Nil if the field is not ASCII.
    public static func essence(of field: String) -> String? {
        // The usual one.
        if field == "application/json" { return field }
        guard field.isASCII else { return nil }
        return Substring(field.utf8.prefix { $0 != UInt8(ascii: ";") }.trimmed).lowercased()
    }
}
