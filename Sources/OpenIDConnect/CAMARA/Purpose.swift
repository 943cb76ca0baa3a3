/// Why an API of an operator is called: a purpose of the W3C Data Privacy Vocabulary, as one of the scopes (CAMARA
/// Security and Interoperability Profile r4.2, section "Purpose as a scope").
///
/// A request has exactly one, so a configuration has one for each provider, and apps give none.
public struct Purpose: Sendable, Hashable {
    /// `dpv:` and the name of the purpose.
    public let scope: String

    /// The prefix of all purposes.
    public static let prefix = "dpv:"

    /// A purpose, or nil unless the text is `dpv:` and 1 to 60 letters and digits that begin with a letter.
    public init?(_ text: String) {
        let name = text.dropFirst(Self.prefix.count).utf8
        guard text.hasPrefix(Self.prefix), (1...60).contains(name.count), name.allSatisfy(Self.isLetterOrDigit),
            let first = name.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        else { return nil }
        scope = text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
