public import Primitives

/// A name for one sign-in that the client, this server and the carrier all log: 1 to 128 visible ASCII characters
/// without quotation marks and backslashes, so that it stands in a header, a query and a log line as it is.
public struct CorrelationID: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    /// The id a client gave, or nil if it cannot be one.
    public init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    private init(unchecked text: String) {
        self.text = text
    }

    /// A new id of 128 random bits, for a client that gave none.
    public static func random(from source: RandomSource) -> CorrelationID {
        CorrelationID(unchecked: source.token(bytes: 16))
    }

    public var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'")
            && byte != UInt8(ascii: "`") && byte != UInt8(ascii: "\\")
    }
}
