import HTTPCore
import Primitives

// The lines of a response: the status line, fields and trailers.
extension ResponseParser {
    /// `HTTP/1.` at the beginning of the status line; of an unfinished one, as far as it has come.
    func checkProtocol(_ line: Span<UInt8>, isWhole: Bool) throws(ResponseError) {
        let expected: StaticString = "HTTP/1."
        let isSame = expected.withUTF8Buffer { expected in
            zip(line.indices, expected).allSatisfy { line[$0] == $1 }
        }
        guard isSame, !isWhole || line.count >= expected.utf8CodeUnitCount else { throw .notHTTP }
    }

    /// `HTTP/1.1 200 OK`; the reason, and the space before it, may be missing (RFC 9112 section 4).
    mutating func receiveStatusLine(_ line: Span<UInt8>) throws(ResponseError) {
        try checkProtocol(line, isWhole: true)
        guard line.count >= 12, line[8] == 0x20 else { throw .statusLine }
        let minor = line[7]
        guard minor == UInt8(ascii: "0") || minor == UInt8(ascii: "1") else { throw .notHTTP }
        guard let status = line.decimal(9..<12)?.number, status >= 100, line.count == 12 || line[12] == 0x20 else {
            throw .statusLine
        }
        for index in 12..<line.count where !ASCII.isFieldValue(line[index]) { throw .statusLine }
        head.minorVersion = Int(minor - UInt8(ascii: "0"))
        head.response.status = status
        state = .fields
    }

    mutating func receiveField(_ line: Span<UInt8>) throws(ResponseError) {
        if ASCII.isWhitespace(line[0]) { return try receiveFolded(line) }
        guard let field = FieldLine(line, at: 0..<line.count) else { throw .field }
        let (name, value) = (field.name, field.value)
        lastField = .framing
        // The length excludes most names, so that few are compared.
        switch name.count {
        case 10 where line.equals(name, "connection"): head.connection.add(value, in: line)
        case 14 where line.equals(name, "content-length"):
            // One that overflows is longer than anything that can be accepted.
            guard let length = line.decimal(value)?.number, head.contentLength == nil || head.contentLength == length
            else { throw .contentLength }
            head.contentLength = length
        case 16 where line.equals(name, "content-encoding"): try receiveContentEncoding(line, value)
        case 17 where line.equals(name, "transfer-encoding"):
            guard line.equals(value, "chunked"), !head.isChunked else { throw .transferEncoding }
            head.isChunked = true
        default: lastField = keep(field, of: line)
        }
    }

    /// The fields whose texts are used. Of several equal ones the first counts; those of a list are all kept, so that
    /// they are one list (RFC 9110 section 5.3), or are not taken for one.
    private static let kept: [(name: StaticString, text: ResponseHead.Text, isList: Bool)] = [
        ("content-type", \.contentType, false), ("cache-control", \.cacheControl, true), ("date", \.date, false),
        ("retry-after", \.retryAfter, false), ("dpop-nonce", \.dpopNonce, true),
        ("www-authenticate", \.wwwAuthenticate, true), ("location", \.location, false),
    ]

    private mutating func keep(_ field: FieldLine, of line: Span<UInt8>) -> LastField {
        for (name, text, isList) in Self.kept where line.equals(field.name, name) {
            let former = head.response[keyPath: text]
            guard isList || former == nil else { break }
            let value = line.text(field.value)
            head.response[keyPath: text] = former.map { "\($0), \(value)" } ?? value
            return .kept(text)
        }
        return .other
    }

    /// A line that continues the value of the last field, as if it were on the same line (RFC 9112 section 5.2).
    private mutating func receiveFolded(_ line: Span<UInt8>) throws(ResponseError) {
        for index in 0..<line.count where !ASCII.isFieldValue(line[index]) { throw .field }
        switch lastField {
        case .none, .framing: throw .folding
        case .other: break
        case .kept(let text): head.response[keyPath: text]?.append(" " + line.text(line.trimmed(0..<line.count)))
        }
    }

    private mutating func receiveContentEncoding(_ line: Span<UInt8>, _ value: Range<Int>) throws(ResponseError) {
        if value.isEmpty || line.equals(value, "identity") { return }
        guard line.equals(value, "gzip") || line.equals(value, "x-gzip"), !head.isGzip else { throw .contentEncoding }
        head.isGzip = true
    }
}
