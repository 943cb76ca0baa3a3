/// `;name=value` after a chunk size (RFC 9112 section 7.1.1): checked, and ignored.
struct ChunkExtensions {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Whether an extension follows, rather than something that is neither size nor extension.
    func begin() -> Bool { rest.first { !ASCII.isWhitespace($0) } == UInt8(ascii: ";") }

    func areWhitespace() -> Bool { rest.allSatisfy(ASCII.isWhitespace) }

    func areText() -> Bool { rest.allSatisfy(ASCII.isFieldValue) }

    mutating func areWellFormed() -> Bool {
        while !rest.isEmpty {
            skipWhitespace()
            guard rest.popFirst() == UInt8(ascii: ";") else { return false }
            skipWhitespace()
            guard skipToken() else { return false }
            guard rest.drop(while: ASCII.isWhitespace).first == UInt8(ascii: "=") else { continue }
            skipWhitespace()
            rest.removeFirst()
            skipWhitespace()
            guard rest.first == UInt8(ascii: "\"") ? skipQuotedString() : skipToken() else { return false }
        }
        return true
    }

    private mutating func skipWhitespace() { rest = rest.drop(while: ASCII.isWhitespace) }

    private mutating func skipToken() -> Bool {
        let after = rest.drop(while: ASCII.isToken)
        defer { rest = after }
        return after.count < rest.count
    }

    private mutating func skipQuotedString() -> Bool {
        rest.removeFirst()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return true }
            guard ASCII.isFieldValue(byte) else { return false }
            if byte == UInt8(ascii: "\\") {
                guard let quoted = rest.popFirst(), ASCII.isFieldValue(quoted) else { return false }
            }
        }
        return false
    }
}
