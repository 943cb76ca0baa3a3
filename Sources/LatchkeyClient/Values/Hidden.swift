/// A secret string that prints as redacted: a token, a code, a code verifier, a key.
struct Hidden: Sendable, Hashable {
    let text: String

    init(_ text: String) { self.text = text }
}

extension Hidden: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "‹redacted›" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension Hidden: Codable {
    init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
