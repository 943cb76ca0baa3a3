/// Writes strings and integers as JSON.
enum JSONText {
    /// Appends a string; each run without escapes at once.
    static func append(_ text: String, to bytes: inout [UInt8]) {
        text.withBytes { utf8 in
            guard hasEscape(utf8) else { return appendQuoted(utf8, to: &bytes) }
            bytes.append(UInt8(ascii: "\""))
            var start = 0
            for index in utf8.indices where needsEscape(utf8[index]) {
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<index]))
                appendEscape(utf8[index], to: &bytes)
                start = index + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
            bytes.append(UInt8(ascii: "\""))
        }
    }

    private static func appendQuoted(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: utf8.count + 2) { (output: inout OutputSpan<UInt8>) in
            output.append(UInt8(ascii: "\""))
            output.append(utf8)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Looks at all bytes in any case: without an early end, the compiler tests sixteen at once.
    private static func hasEscape(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        var found: UInt8 = 0
        for byte in utf8 { found |= needsEscape(byte) ? 1 : 0 }
        return found != 0
    }

    static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        DecimalDigits.withDigits(of: number.magnitude) { bytes.append(contentsOf: $0) }
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        guard byte < 0x20 else { return bytes.append(byte) }
        bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
        bytes.append((byte >> 4).hexadecimalDigit)
        bytes.append((byte & 15).hexadecimalDigit)
    }
}
