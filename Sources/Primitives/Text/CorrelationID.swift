/// Names one sign-in in the logs of the client, this server and the provider: 1 to 128 visible ASCII characters without
/// quotation marks and backslashes, so that it needs no escaping in a header, a query or a log line.
public struct CorrelationID: Sendable, Hashable, CustomStringConvertible {
    /// The id.
    public let text: String

    /// A client's id, or nil if it has another length or other characters.
    public init?(_ text: String) {
        guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.text = text
    }

    private init(unchecked text: String) { self.text = text }

    /// A new id of 128 random bits, for a client that sent none.
    public static func random(from source: RandomSource) -> CorrelationID {
        CorrelationID(unchecked: source.token(bytes: 16))
    }

    public var description: String { text }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isVisibleASCII && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'")
            && byte != UInt8(ascii: "`") && byte != UInt8(ascii: "\\")
    }
}
