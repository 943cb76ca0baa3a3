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
        guard let (length, overflows) = bytes.decimal(field.value), !overflows else { throw .contentLength }
        contentLength = length
    }

    private mutating func addCoding(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        guard !isChunked else { throw .transferEncoding }
        guard bytes.equals(field.value, "chunked") else {
            throw endsChunked(field.value, in: bytes) ? .transferCodingUnknown : .transferEncoding
        }
        isChunked = true
    }

    /// Whether a list is well formed and only its last coding is chunked: then the framing is certain, and only the
    /// other codings are unsupported (RFC 9112 sections 6.1 and 6.3).
    private func endsChunked(_ list: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        var codings: [Range<Int>] = []
        bytes.forEachElement(of: list) { codings.append($0) }
        guard let last = codings.popLast(), !codings.isEmpty, bytes.equals(last, "chunked") else {
            return false
        }
        return codings.allSatisfy { coding in
            !coding.isEmpty && coding.allSatisfy { ASCII.isToken(bytes[$0]) }
                && !bytes.equals(coding, "chunked")
        }
    }

    private mutating func addContentCoding(_ field: FieldLine, in bytes: Span<UInt8>) {
        bytes.forEachElement(of: field.value) { coding in
            if !coding.isEmpty, !bytes.equals(coding, "identity") { isCoded = true }
        }
    }

    private mutating func addExpectation(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        guard !expectsContinue, bytes.equals(field.value, "100-continue") else { throw .expectation }
        expectsContinue = true
    }

    private mutating func addConnection(_ field: FieldLine, in bytes: Span<UInt8>) {
        bytes.forEachElement(of: field.value) { option in
            if bytes.equals(option, "close") { hasClose = true }
            if bytes.equals(option, "keep-alive") { hasKeepAlive = true }
        }
    }
}
