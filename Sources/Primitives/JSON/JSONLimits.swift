/// How much JSON is read before it is refused.
public struct JSONLimits: Sendable, Hashable {
    /// Length of the whole text.
    public var bytes: Int
    /// Arrays and objects within each other.
    public var depth: Int
    /// Values of all kinds in the whole text.
    public var values: Int

    public init(bytes: Int = 1 << 20, depth: Int = 32, values: Int = 16_384) {
        self.bytes = bytes
        self.depth = depth
        self.values = values
    }

    /// 1 MiB, 32 levels, 16,384 values.
    public static let standard = JSONLimits()
}

/// Where and why a text is not JSON, or more than is read. It does not repeat the text.
public struct JSONSyntaxError: Error, Sendable, Hashable {
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

    public let code: Code
    /// In bytes from the start of the text.
    public let offset: Int

    init(_ code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }
}
