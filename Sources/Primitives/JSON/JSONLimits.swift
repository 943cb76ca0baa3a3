/// How much JSON is read before it is refused.
public struct JSONLimits: Sendable, Hashable {
    /// The length of the whole text, in bytes.
    public var bytes: Int
    /// How deep arrays and objects may be nested.
    public var depth: Int
    /// How many values of all kinds the whole text may have.
    public var values: Int

    /// Limits; unless given, 1 MiB, 32 levels and 16,384 values.
    public init(bytes: Int = 1 << 20, depth: Int = 32, values: Int = 16_384) {
        self.bytes = bytes
        self.depth = depth
        self.values = values
    }
}

/// Why a text is not JSON or exceeds a limit, and where. It does not repeat the text.
public struct JSONSyntaxError: Error, Sendable, Hashable {
    /// What is wrong.
    public enum Code: String, Sendable {
        case unexpectedEnd = "unexpected_end"
        case unexpectedByte = "unexpected_byte"
        case trailingBytes = "trailing_bytes"
        case invalidNumber = "invalid_number"
        case invalidEscape = "invalid_escape"
        case controlCharacter = "control_character"
        case invalidUTF8 = "invalid_utf8"
        case loneSurrogate = "lone_surrogate"
        case tooManyMarks = "too_many_combining_marks"
        case duplicateMember = "duplicate_member"
        case tooDeep = "too_deep"
        case tooLarge = "too_large"
        case tooManyValues = "too_many_values"
    }

    /// What is wrong.
    public let code: Code
    /// In bytes from the start of the text.
    public let offset: Int
}
