/// A text that must not be seen: a client secret, an API key, a session token.
///
/// It prints, reflects and interpolates as `‹redacted›`. Only ``exposed`` gives the text.
public struct Secret: Sendable, Hashable, Redacted {
    /// The secret text, for code that sends, hashes or compares it.
    public let exposed: String

    public init(_ text: String) { exposed = text }
}

/// A value whose content is secret or personal: neither `print` nor interpolation nor reflection shows more than
/// ``shown``.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The members that may be shown; none unless the type says otherwise.
    var shown: [Mirror.Child] { get }
}

extension Redacted {
    /// No member.
    public var shown: [Mirror.Child] { [] }

    /// The type's name with ``shown``, or `‹redacted›` if nothing may be shown.
    public var description: String {
        if shown.isEmpty { return "‹redacted›" }
        return "\(Self.self)(\(shown.map { "\($0.label ?? ""): \($0.value)" }.joined(separator: ", ")))"
    }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// ``shown`` alone.
    public var customMirror: Mirror { Mirror(self, children: shown) }
}
