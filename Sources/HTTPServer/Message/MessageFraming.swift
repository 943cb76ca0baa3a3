import HTTPCore
import Primitives

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
    private var hasHost = false
    private var contentLength: Int?
    private var isChunked = false
    private var connection = ConnectionOptions()
    private var expectsContinue = false
    private var isCoded = false

    mutating func add(_ field: FieldLine, in bytes: Span<UInt8>) throws(RequestError) {
        switch field.name.count {
        case 4 where bytes.equals(field.name, "host"):
            guard !hasHost else { throw .hostRepeated }
            hasHost = true
            guard HostField.isValid(bytes, at: field.value) else { throw .hostInvalid }
        case 6 where bytes.equals(field.name, "expect"):
            guard !expectsContinue, bytes.equals(field.value, "100-continue") else { throw .expectation }
            expectsContinue = true
        case 10 where bytes.equals(field.name, "connection"): connection.add(field.value, in: bytes)
        case 14 where bytes.equals(field.name, "content-length"):
            // RFC 9110 section 8.6 lets a list of equal lengths be read as one; no honest client sends it.
            guard contentLength == nil else { throw .contentLengthRepeated }
            guard let (length, overflows) = bytes.decimal(field.value), !overflows else { throw .contentLength }
            contentLength = length
        case 16 where bytes.equals(field.name, "content-encoding"):
            bytes.forEachElement(of: field.value) { coding in
                if !coding.isEmpty, !bytes.equals(coding, "identity") { isCoded = true }
            }
        case 17 where bytes.equals(field.name, "transfer-encoding"): try addCoding(field, in: bytes)
        default: break
        }
    }

    func framing(minorVersion: Int, limits: MessageLimits) throws(RequestError) -> MessageFraming {
        if !hasHost, minorVersion >= 1 { throw .hostMissing }
        var framing = MessageFraming()
        framing.keepsAlive = connection.keepAlive(minorVersion: minorVersion)
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
            !coding.isEmpty && coding.allSatisfy { bytes[$0].isToken }
                && !bytes.equals(coding, "chunked")
        }
    }
}

extension RequestError {
    /// Why a line is no ``FieldLine``.
    init(fieldLine line: Range<Int>, of bytes: Span<UInt8>) {
        let nameEnd = line.first { !bytes[$0].isToken } ?? line.upperBound
        let isWithoutName = nameEnd == line.lowerBound
        switch nameEnd < line.upperBound ? bytes[nameEnd] : nil {
        case ASCII.colon where !isWithoutName:
            let fault = line[(nameEnd + 1)...].first { !ASCII.isFieldValue(bytes[$0]) }
            self = fault.map { bytes[$0] } == ASCII.carriageReturn ? .bareCarriageReturn : .fieldValue
        case ASCII.space, ASCII.tab: self = isWithoutName ? .lineFolding : .whitespaceBeforeColon
        case ASCII.carriageReturn: self = .bareCarriageReturn
        default: self = .fieldName
        }
    }
}
