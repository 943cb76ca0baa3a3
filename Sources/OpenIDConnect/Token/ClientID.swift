/// A client identifier (RFC 6749 section 2.2): 1 to 255 printable ASCII characters (VSCHAR).
public struct ClientID: Sendable, Hashable, CustomStringConvertible {
    /// The identifier.
    public let text: String

    /// Stands for an identifier until it is read.
    package static let unset = ClientID()

    private init() { text = "" }

    /// An identifier, or nil if it is empty, too long, or has a character that RFC 6749 appendix A.1 does not allow.
    public init?(_ text: String) {
        guard (1...255).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        self.text = text
    }

    public var description: String { text }
}
