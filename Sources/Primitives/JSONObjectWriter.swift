/// Writes one JSON object (RFC 8259), member by member, straight into bytes.
///
/// ```swift
/// var json = JSONObjectWriter()
/// json.add("token_type", "bearer")
/// json.add("expires", 3600)
/// let bytes = json.finish()  // {"token_type":"bearer","expires":3600}
/// ```
public struct JSONObjectWriter: Sendable {
    private var bytes: [UInt8]
    private var isEmpty = true

    public init(capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The object's text in UTF-8. The writer is spent after it.
    public consuming func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    public mutating func add(_ name: StaticString, _ text: String) {
        begin(name)
        JSONText.append(text, to: &bytes)
    }

    public mutating func add(_ name: StaticString, _ number: Int64) {
        begin(name)
        bytes.append(contentsOf: String(number).utf8)
    }

    public mutating func add(_ name: StaticString, _ number: Int) { add(name, Int64(number)) }

    public mutating func add(_ name: StaticString, _ flag: Bool) {
        begin(name)
        bytes.append(contentsOf: flag ? "true".utf8 : "false".utf8)
    }

    public mutating func add(_ name: StaticString, _ texts: [String]) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONText.append(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Adds the text, or null.
    public mutating func add(_ name: StaticString, orNull text: String?) {
        if let text { return add(name, text) }
        begin(name)
        bytes.append(contentsOf: "null".utf8)
    }

    /// Adds the text if there is one.
    public mutating func add(_ name: StaticString, ifPresent text: String?) {
        if let text { add(name, text) }
    }

    /// Adds an object that `members` writes.
    public mutating func add(_ name: StaticString, object members: (inout JSONObjectWriter) -> Void) {
        begin(name)
        var inner = JSONObjectWriter(capacity: 64)
        members(&inner)
        bytes.append(contentsOf: inner.finish())
    }

    private mutating func begin(_ name: StaticString) {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }
}

/// JSON's string notation.
enum JSONText {
    static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(hexadecimal(byte >> 4))
                bytes.append(hexadecimal(byte & 15))
            default:
                bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}
