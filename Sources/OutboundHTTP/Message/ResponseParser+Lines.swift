import HTTPCore

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
        head.status = status
        state = .fields
    }

    mutating func receiveField(_ line: Span<UInt8>) throws(ResponseError) {
        if ASCII.isWhitespace(line[0]) { return try receiveFolded(line) }
        guard let field = FieldLine(line, at: 0..<line.count) else { throw .field }
        let (name, value) = (field.name, field.value)
        lastField = .other
        // The length excludes most names, so that few are compared. The first of several equal fields counts.
        switch name.count {
        case 4 where line.equals(name, "date"):
            guard head.date == nil else { return }
            head.date = line.text(value)
            lastField = .date
        case 10 where line.equals(name, "connection"):
            head.connection.add(value, in: line)
            lastField = .framing
        case 10 where line.equals(name, "dpop-nonce"):
            // Several are kept, so that they are not taken for one.
            let text = line.text(value)
            head.dpopNonce = head.dpopNonce.map { "\($0), \(text)" } ?? text
            lastField = .dpopNonce
        case 11 where line.equals(name, "retry-after"):
            guard head.retryAfter == nil else { return }
            head.retryAfter = line.text(value)
            lastField = .retryAfter
        case 12 where line.equals(name, "content-type"):
            guard head.contentType == nil else { return }
            head.contentType = line.text(value)
            lastField = .contentType
        case 13 where line.equals(name, "cache-control"):
            // Lines of one list-valued field are one list (RFC 9110 section 5.3).
            let text = line.text(value)
            head.cacheControl = head.cacheControl.map { "\($0), \(text)" } ?? text
            lastField = .cacheControl
        case 14 where line.equals(name, "content-length"):
            // One that overflows is longer than anything that can be accepted.
            guard let length = line.decimal(value)?.number, head.contentLength == nil || head.contentLength == length
            else { throw .contentLength }
            head.contentLength = length
            lastField = .framing
        case 16 where line.equals(name, "content-encoding"):
            try receiveContentEncoding(line, value)
            lastField = .framing
        case 16 where line.equals(name, "www-authenticate"):
            let text = line.text(value)
            head.wwwAuthenticate = head.wwwAuthenticate.map { "\($0), \(text)" } ?? text
            lastField = .wwwAuthenticate
        case 17 where line.equals(name, "transfer-encoding"):
            guard line.equals(value, "chunked"), !head.isChunked else { throw .transferEncoding }
            head.isChunked = true
            lastField = .framing
        default: break
        }
    }

    /// A line that continues the value of the last field, as if it were on the same line (RFC 9112 section 5.2).
    private mutating func receiveFolded(_ line: Span<UInt8>) throws(ResponseError) {
        for index in 0..<line.count where !ASCII.isFieldValue(line[index]) { throw .field }
        let text = line.text(line.trimmed(0..<line.count))
        switch lastField {
        case .none, .framing: throw .folding
        case .other: break
        case .contentType: head.contentType?.append(" " + text)
        case .cacheControl: head.cacheControl?.append(" " + text)
        case .retryAfter: head.retryAfter?.append(" " + text)
        case .date: head.date?.append(" " + text)
        case .dpopNonce: head.dpopNonce?.append(" " + text)
        case .wwwAuthenticate: head.wwwAuthenticate?.append(" " + text)
        }
    }

    private mutating func receiveContentEncoding(_ line: Span<UInt8>, _ value: Range<Int>) throws(ResponseError) {
        if value.isEmpty || line.equals(value, "identity") { return }
        guard line.equals(value, "gzip") || line.equals(value, "x-gzip"), !head.isGzip else { throw .contentEncoding }
        head.isGzip = true
    }
}
