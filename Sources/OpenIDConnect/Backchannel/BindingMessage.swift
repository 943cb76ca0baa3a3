/// The text that a user compares on the device where the sign-in began and on the one that asks for approval (CIBA Core
/// section 7.1, `binding_message`): 1 to 64 letters, digits, signs and single spaces.
///
/// Control and formatting characters are refused, such as those that reverse the direction of a text: the user must
/// read on both devices what was sent.
public struct BindingMessage: Sendable, Hashable {
    /// The text.
    public let text: String

    /// The most characters (Unicode scalars).
    public static let maximumLength = 64

    /// Nil for any other text.
    public init?(_ text: String) {
        let characters = text.unicodeScalars
        guard (1...Self.maximumLength).contains(characters.count), characters.allSatisfy(Self.isShown),
            characters.first != " ", characters.last != " ", !text.contains("  ")
        else { return nil }
        self.text = text
    }

    private static func isShown(_ character: Unicode.Scalar) -> Bool {
        switch character.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .decimalNumber, .letterNumber, .otherNumber, .connectorPunctuation, .dashPunctuation,
            .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation, .otherPunctuation,
            .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
            true
        default: character == " "
        }
    }
}
