import Primitives

/// The shortest texts that are refused as JSON for a reason.
enum FaultyJSON {
    /// A text that ``JSONValue`` refuses with this code. An unknown code stands for any other text.
    static func text(_ fault: String) -> [UInt8] {
        switch JSONSyntaxError.Code(rawValue: fault) {
        case .unexpectedEnd: Array("{".utf8)
        case .trailingBytes: Array("{} x".utf8)
        case .invalidNumber: Array("1.x".utf8)
        case .invalidEscape: Array(#""\x""#.utf8)
        case .controlCharacter: Array("\"\u{01}\"".utf8)
        case .invalidUTF8: [0x22, 0xFF, 0x22]
        case .loneSurrogate: Array(#""\ud800""#.utf8)
        case .tooManyMarks: Array(("\"a" + String(repeating: "\u{0301}", count: 31) + "\"").utf8)
        case .duplicateMember: Array(#"{"a":1,"a":1}"#.utf8)
        case .tooDeep: [UInt8](repeating: UInt8(ascii: "["), count: JSONLimits.standard.depth + 1)
        case .tooLarge: [UInt8](repeating: UInt8(ascii: " "), count: JSONLimits.standard.bytes + 1)
        case .tooManyValues: Array(("[0" + String(repeating: ",0", count: JSONLimits.standard.values) + "]").utf8)
        case .unexpectedByte, nil: Array("x".utf8)
        }
    }
}
