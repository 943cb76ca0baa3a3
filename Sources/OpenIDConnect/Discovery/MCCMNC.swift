/// A mobile network: mobile country code and mobile network code (ITU-T E.212), five or six digits.
///
/// Kept as text, because leading zeros matter.
public struct MCCMNC: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// The network a text names, or nil unless it is five or six ASCII digits.
    public init?(_ text: String) {
        guard (5...6).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        self.text = text
    }

    public var description: String { text }
}
