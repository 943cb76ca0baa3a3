import HTTPCore

/// One `name: value` line (RFC 9112 section 5), as ranges of the bytes it was read from.
struct FieldLine {
    let name: Range<Int>
    /// Without the white space around it.
    let value: Range<Int>

    /// Reads the line at `line`, without CR LF.
    init(_ bytes: Span<UInt8>, at line: Range<Int>) throws(RequestError) {
        var index = line.lowerBound
        while index < line.upperBound, ASCII.isToken(bytes[index]) { index += 1 }
        guard index < line.upperBound, bytes[index] == ASCII.colon, index > line.lowerBound else {
            throw FieldLine.fault(bytes, at: line, nameEnd: index)
        }
        name = line.lowerBound..<index
        value = bytes.trimmed(index + 1..<line.upperBound)
        guard FieldLine.isValue(bytes.extracting(value)) else {
            let fault = value.first { !ASCII.isFieldValue(bytes[$0]) }
            throw fault.map { bytes[$0] == ASCII.carriageReturn } == true ? .bareCarriageReturn : .fieldValue
        }
    }

    /// Looks at all bytes in any case: without an early end, the compiler tests sixteen at once.
    private static func isValue(_ bytes: Span<UInt8>) -> Bool {
        bytes.withUnsafeBufferPointer { bytes in
            var others: UInt8 = 0
            for byte in bytes { others |= ASCII.isFieldValue(byte) ? 0 : 1 }
            return others == 0
        }
    }

    func isNamed(_ lowercase: StaticString, in bytes: Span<UInt8>) -> Bool { bytes.equals(name, lowercase) }

    static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var text = text.drop(while: ASCII.isWhitespace)
        while let last = text.last, ASCII.isWhitespace(last) { text.removeLast() }
        return text
    }

    private static func fault(_ bytes: Span<UInt8>, at line: Range<Int>, nameEnd: Int) -> RequestError {
        guard nameEnd < line.upperBound else { return .fieldName }
        let byte = bytes[nameEnd]
        if ASCII.isWhitespace(byte) { return nameEnd == line.lowerBound ? .lineFolding : .whitespaceBeforeColon }
        return byte == ASCII.carriageReturn ? .bareCarriageReturn : .fieldName
    }
}
