import HTTPCore

// The lines of a response: the status line, fields and trailers.
extension ResponseParser {
    /// `HTTP/1.` at the beginning of the status line; of an unfinished one, as far as it has come.
    func checkProtocol(_ line: Span<UInt8>, isWhole: Bool) throws(ResponseError) {
        let expected: StaticString = "HTTP/1."
        let length = expected.utf8CodeUnitCount
        guard !isWhole || line.count >= length else { throw .notHTTP }
        let isSame = expected.withUTF8Buffer { expected in
            for index in 0..<min(line.count, length) where line[index] != expected[index] { return false }
            return true
        }
        guard isSame else { throw .notHTTP }
    }

    /// `HTTP/1.1 200 OK`; the reason, and the space before it, may be missing (RFC 9112 section 4).
    mutating func receiveStatusLine(_ line: Span<UInt8>) throws(ResponseError) {
        try checkProtocol(line, isWhole: true)
        guard line.count >= 12, line[8] == 0x20 else { throw .statusLine }
        let minor = line[7]
        guard minor == UInt8(ascii: "0") || minor == UInt8(ascii: "1") else { throw .notHTTP }
        var status = 0
        for index in 9..<12 {
            guard ASCII.isDigit(line[index]) else { throw .statusLine }
            status = status * 10 + Int(line[index] - UInt8(ascii: "0"))
        }
        guard status >= 100, line.count == 12 || line[12] == 0x20 else { throw .statusLine }
        for index in 12..<line.count where !ASCII.isFieldValue(line[index]) { throw .statusLine }
        head.minorVersion = Int(minor - UInt8(ascii: "0"))
        head.status = status
        state = .fields
    }

    mutating func receiveField(_ line: Span<UInt8>) throws(ResponseError) {
        if ASCII.isWhitespace(line[0]) { return try receiveFolded(line) }
        let (name, value) = try field(line)
        lastField = .other
        // The length excludes most names, so that few are compared. The first of several equal fields counts.
        switch name.count {
        case 4 where line.equals(name, "date"):
            guard head.date == nil else { return }
            head.date = line.text(value)
            lastField = .date
        case 10 where line.equals(name, "connection"):
            receiveConnection(line, value)
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
            try receiveContentLength(line, value)
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

    /// The name, and the value without the white space around it (RFC 9112 section 5).
    private func field(_ line: Span<UInt8>) throws(ResponseError) -> (name: Range<Int>, value: Range<Int>) {
        var colon = 0
        while colon < line.count, ASCII.isToken(line[colon]) { colon += 1 }
        guard colon > 0, colon < line.count, line[colon] == UInt8(ascii: ":") else { throw .field }
        for index in colon + 1..<line.count where !ASCII.isFieldValue(line[index]) { throw .field }
        return (0..<colon, line.trimmed(colon + 1..<line.count))
    }

    private mutating func receiveContentLength(_ line: Span<UInt8>, _ value: Range<Int>) throws(ResponseError) {
        // One that overflows is longer than anything that can be accepted.
        guard let length = line.decimal(value)?.number else { throw .contentLength }
        guard head.contentLength == nil || head.contentLength == length else { throw .contentLength }
        head.contentLength = length
    }

    private mutating func receiveContentEncoding(_ line: Span<UInt8>, _ value: Range<Int>) throws(ResponseError) {
        if value.isEmpty || line.equals(value, "identity") { return }
        guard line.equals(value, "gzip") || line.equals(value, "x-gzip"), !head.isGzip else { throw .contentEncoding }
        head.isGzip = true
    }

    private mutating func receiveConnection(_ line: Span<UInt8>, _ value: Range<Int>) {
        line.forEachElement(of: value) { option in
            if line.equals(option, "close") { head.saysClose = true }
            if line.equals(option, "keep-alive") { head.saysKeepAlive = true }
        }
    }

    /// Trailers are checked, and ignored.
    func checkTrailer(_ line: Span<UInt8>) throws(ResponseError) { _ = try field(line) }
}

extension Span<UInt8> {
    /// The index of the first line feed from an index on.
    func lineFeed(from start: Int) -> Int? {
        var index = start
        while index < count {
            if self[index] == 0x0A { return index }
            index += 1
        }
        return nil
    }
}
