import Primitives

extension String {
    /// Whether the text is 1 to so many visible ASCII characters: the form of subjects, ids and tokens.
    package func isVisibleASCII(upTo maximum: Int = .max) -> Bool {
        (1...maximum).contains(utf8.count) && withBytes { $0.allSatisfy(\.isVisibleASCII) }
    }
}

extension [String] {
    /// The texts with spaces between them; nil if there are none.
    var spaceSeparated: String? { isEmpty ? nil : joined(separator: " ") }
}
