import Primitives

/// A mobile network: mobile country code and mobile network code (ITU-T E.212). A text, because leading zeros matter.
public struct MCCMNC: Sendable, Hashable, CustomStringConvertible {
    /// Five or six digits.
    public let text: String

    /// A network, or nil unless the text is five or six ASCII digits.
    public init?(_ text: String) {
        guard (5...6).contains(text.utf8.count), text.isDecimal else { return nil }
        self.text = text
    }

    public var description: String { text }
}
