/// A text that must not be seen: a client secret, an API key, a session token.
///
/// It prints, reflects and interpolates as `‹redacted›`. Only ``exposed`` gives the text.
public struct Secret: Sendable, Hashable, Redacted {
    /// The secret text, for code that sends, hashes or compares it.
    public let exposed: String

    /// Wraps a text.
    public init(_ text: String) { exposed = text }
}
