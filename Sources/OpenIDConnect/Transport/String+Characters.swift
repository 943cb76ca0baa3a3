extension String {
    /// Whether the text is 1 to so many visible ASCII characters: the form of subjects, ids and tokens.
    func isVisibleASCII(upTo maximum: Int = .max) -> Bool {
        (1...maximum).contains(utf8.count) && utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension StringProtocol {
    /// Whether the text is one or more ASCII digits.
    var isDecimal: Bool { !isEmpty && utf8.allSatisfy { (48...57).contains($0) } }
}
