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
