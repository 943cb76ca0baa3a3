/// A secret string that prints as redacted: a token, a code, a code verifier, a key.
struct Hidden: Sendable, Hashable, Codable, RawRepresentable {
    let rawValue: String
}

extension Hidden: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    init(_ text: String) { rawValue = text }

    var description: String { "‹redacted›" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
