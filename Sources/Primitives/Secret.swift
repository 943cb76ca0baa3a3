/// A text that must not be seen: a client secret, an API key, a session token.
///
/// It prints, reflects and interpolates as `‹redacted›`; the text itself is had only by asking for ``exposed``.
public struct Secret: Sendable, Hashable {
    /// The secret text. Each place that reads it should be one that sends, hashes or compares it.
    public let exposed: String

    public init(_ text: String) {
        exposed = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "‹redacted›" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
