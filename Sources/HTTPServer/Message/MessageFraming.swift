import HTTPCore

/// The length of a request's content, and whether the connection persists (RFC 9112 sections 6 and 9).
struct MessageFraming: Sendable, Hashable {
    enum Content: Sendable, Hashable {
        case none
        case length(Int)
        case chunked
    }

    var content = Content.none
    var keepsAlive = true
    var expectsContinue = false
}

/// Collects the fields that decide the framing, and refuses every ambiguity.
struct FramingFields {
    private var hosts = 0
    private var contentLength: Int?
    private var isChunked = false
    private var hasClose = false
    private var hasKeepAlive = false
    private var expectsContinue = false
    private var isCoded = false

    mutating func add(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        switch field.name.count {
        case 4 where field.isNamed("host", in: bytes): try addHost(field, in: bytes)
        case 6 where field.isNamed("expect", in: bytes): try addExpectation(field, in: bytes)
        case 10 where field.isNamed("connection", in: bytes): addConnection(field, in: bytes)
        case 14 where field.isNamed("content-length", in: bytes): try addLength(field, in: bytes)
        case 16 where field.isNamed("content-encoding", in: bytes): addContentCoding(field, in: bytes)
        case 17 where field.isNamed("transfer-encoding", in: bytes): try addCoding(field, in: bytes)
        default: break
        }
    }

    /// The framing of a message.
    func framing(minorVersion: Int, limits: MessageLimits) throws(RequestError) -> MessageFraming {
        if hosts == 0, minorVersion >= 1 { throw .hostMissing }
        var framing = MessageFraming()
        framing.keepsAlive = !hasClose && (minorVersion >= 1 || hasKeepAlive)
        framing.expectsContinue = expectsContinue && minorVersion >= 1
        if isChunked {
            guard contentLength == nil else { throw .transferEncodingAndLength }
            guard minorVersion >= 1 else { throw .transferEncodingInHTTP10 }
            framing.content = .chunked
        } else if let contentLength {
            guard contentLength <= limits.bodyBytes else { throw .bodyTooLarge }
            framing.content = contentLength > 0 ? .length(contentLength) : .none
        }
        // Before the content is read: a few compressed bytes can expand to a great many.
        if isCoded, framing.content != .none { throw .contentCoding }
        return framing
    }

    private mutating func addHost(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        guard hosts == 0 else { throw .hostRepeated }
        hosts = 1
        guard HostField.isValid(bytes, at: field.value) else { throw .hostInvalid }
    }

    /// RFC 9110 section 8.6 lets a list of equal lengths be read as one; no honest client sends it.
    private mutating func addLength(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        guard contentLength == nil else { throw .contentLengthRepeated }
        guard !field.value.isEmpty else { throw .contentLength }
        var length = 0
        for index in field.value {
            guard ASCII.isDigit(bytes[index]) else { throw .contentLength }
            let (tens, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(bytes[index] - UInt8(ascii: "0")))
            guard !overflow, !carry else { throw .contentLength }
            length = sum
        }
        contentLength = length
    }

    private mutating func addCoding(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        guard !isChunked else { throw .transferEncoding }
        guard FieldLine.equals(field.value, "chunked", in: bytes) else {
            throw endsChunked(field.value, in: bytes) ? .transferCodingUnknown : .transferEncoding
        }
        isChunked = true
    }

    /// Whether a list is well formed and only its last coding is chunked: then the framing is certain, and only the
    /// other codings are unsupported (RFC 9112 sections 6.1 and 6.3).
    private func endsChunked(_ list: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        var codings: [Range<Int>] = []
        FramingFields.forEachElement(of: list, in: bytes) { codings.append($0) }
        guard let last = codings.popLast(), !codings.isEmpty, FieldLine.equals(last, "chunked", in: bytes) else {
            return false
        }
        return codings.allSatisfy { coding in
            !coding.isEmpty && coding.allSatisfy { ASCII.isToken(bytes[$0]) }
                && !FieldLine.equals(coding, "chunked", in: bytes)
        }
    }

    private mutating func addContentCoding(_ field: FieldLine, in bytes: Span<UInt8>) {
        FramingFields.forEachElement(of: field.value, in: bytes) { coding in
            if !coding.isEmpty, !FieldLine.equals(coding, "identity", in: bytes) { isCoded = true }
        }
    }

    private mutating func addExpectation(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        guard !expectsContinue, FieldLine.equals(field.value, "100-continue", in: bytes) else { throw .expectation }
        expectsContinue = true
    }

    private mutating func addConnection(_ field: FieldLine, in bytes: Span<UInt8>) {
        FramingFields.forEachElement(of: field.value, in: bytes) { option in
            if FieldLine.equals(option, "close", in: bytes) { hasClose = true }
            if FieldLine.equals(option, "keep-alive", in: bytes) { hasKeepAlive = true }
        }
    }

    /// Calls back with each element of a comma-separated list (RFC 9110 section 5.6.1), without white space.
    private static func forEachElement(of list: Range<Int>, in bytes: Span<UInt8>, _ call: (Range<Int>) -> Void) {
        var start = list.lowerBound
        while start < list.upperBound {
            var end = start
            while end < list.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
            var element = start..<end
            while let first = element.first, ASCII.isWhitespace(bytes[first]) { element.removeFirst() }
            while let last = element.last, ASCII.isWhitespace(bytes[last]) { element.removeLast() }
            call(element)
            start = end + 1
        }
    }
}
