extension String {
    /// Whether the text is 1 to so many visible ASCII characters: the form of subjects, ids and tokens.
    func isVisibleASCII(upTo maximum: Int = .max) -> Bool {
        (1...maximum).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension [String] {
    /// The texts with spaces between them; nil if there are none.
    var spaceSeparated: String? { isEmpty ? nil : joined(separator: " ") }
}

extension UInt8 {
    /// Whether the byte is an ASCII letter.
    var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
    /// Whether the byte is an ASCII digit.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isLetterOrDigit: Bool { isLetter || isDigit }
}

extension StringProtocol {
    /// Whether the text is one or more ASCII digits.
    var isDecimal: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }
}
