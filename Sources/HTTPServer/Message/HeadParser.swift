import HTTPCore
import HTTPTypes
import Primitives

/// Parses the head of a request (RFC 9112 sections 2 to 6) incrementally.
///
/// A pure value: each call gets all bytes of the message so far. It remembers how far it has scanned for line ends.
struct HeadParser {
    enum Progress {
        case needsMore
        case complete(RequestHead, MessageFraming, byteCount: Int)
    }

    /// No registered method is longer.
    private static let maximumMethodBytes = 32
    /// Room for the fields of most requests at once.
    private static let usualFields = 8

    private let limits: MessageLimits
    private var scanned = 0
    private var lineStart = 0
    private var headStart = 0
    private var requestLine: (method: HTTPRequest.Method, target: RequestTarget, minorVersion: Int)?
    private var fieldsStart = 0
    private var fields: [RequestHead.Field] = []
    private var framing = FramingFields()

    init(limits: MessageLimits) { self.limits = limits }

    /// Parses the message so far; `bytes` begins at its first byte.
    mutating func parse(_ bytes: Span<UInt8>) throws(RequestError) -> Progress {
        while let lineFeed = bytes.lineFeed(from: scanned) {
            scanned = lineFeed + 1
            try checkLine(bytes, upTo: lineFeed)
            guard lineFeed > lineStart, bytes[lineFeed - 1] == ASCII.carriageReturn else { throw .bareLineFeed }
            let line = lineStart..<lineFeed - 1
            lineStart = scanned
            if let progress = try parse(line, of: bytes) { return progress }
        }
        scanned = bytes.count
        if lineStart < bytes.count { try checkLine(bytes, upTo: bytes.count) }
        return .needsMore
    }

    /// Reads one line; returns the head at the empty line that ends it.
    private mutating func parse(_ line: Range<Int>, of bytes: Span<UInt8>) throws(RequestError) -> Progress? {
        guard let requestLine else {
            try parseFirstLine(line, of: bytes)
            return nil
        }
        guard line.isEmpty else {
            try parseField(line, of: bytes)
            return nil
        }
        let end = lineStart
        let framing = try framing.framing(minorVersion: requestLine.minorVersion, limits: limits)
        let head = RequestHead(
            method: requestLine.method, path: requestLine.target.path, rawQuery: requestLine.target.rawQuery,
            minorVersion: requestLine.minorVersion, fields: fields,
            bytes: bytes.extracting(headStart..<end).withUnsafeBufferPointer { Array($0) })
        return .complete(head, framing, byteCount: end)
    }

    private mutating func parseFirstLine(_ line: Range<Int>, of bytes: Span<UInt8>) throws(RequestError) {
        if line.isEmpty {
            // RFC 9112 section 2.2 asks for leniency with one empty line after a previous message.
            guard line.lowerBound == 0 else { throw .emptyLine }
            headStart = lineStart
            return
        }
        requestLine = try HeadParser.parseRequestLine(line, of: bytes)
        fieldsStart = lineStart
        fields.reserveCapacity(HeadParser.usualFields)
    }

    private static func parseRequestLine(
        _ line: Range<Int>, of bytes: Span<UInt8>
    ) throws(RequestError) -> (method: HTTPRequest.Method, target: RequestTarget, minorVersion: Int) {
        var methodEnd = line.lowerBound
        while methodEnd < line.upperBound, bytes[methodEnd].isToken { methodEnd += 1 }
        guard methodEnd < line.upperBound, bytes[methodEnd] == ASCII.space, methodEnd > line.lowerBound else {
            throw .method
        }
        guard methodEnd - line.lowerBound <= maximumMethodBytes,
            let method = method(bytes, at: line.lowerBound..<methodEnd)
        else { throw .methodTooLong }
        let targetStart = methodEnd + 1
        var targetEnd = targetStart
        while targetEnd < line.upperBound, bytes[targetEnd] != ASCII.space { targetEnd += 1 }
        guard targetEnd > targetStart, targetEnd < line.upperBound else { throw .requestLine }
        let minorVersion = try parseVersion(bytes, at: targetEnd + 1..<line.upperBound)
        let target = try RequestTarget(bytes, at: targetStart..<targetEnd, method: method)
        return (method, target, minorVersion)
    }

    /// Most requests have one of two methods, for which no text is made.
    private static func method(_ bytes: Span<UInt8>, at range: Range<Int>) -> HTTPRequest.Method? {
        if range.count == 3, bytes.has("GET", at: range.lowerBound) { return .get }
        if range.count == 4, bytes.has("POST", at: range.lowerBound) { return .post }
        return HTTPRequest.Method(bytes.text(range))
    }

    /// `HTTP/` DIGIT `.` DIGIT, case-sensitive (RFC 9112 section 2.3).
    private static func parseVersion(_ bytes: Span<UInt8>, at range: Range<Int>) throws(RequestError) -> Int {
        guard range.count == 8 else { throw .version }
        let major = bytes[range.lowerBound + 5]
        let minor = bytes[range.lowerBound + 7]
        guard bytes.has("HTTP/", at: range.lowerBound), major.isASCIIDigit,
            bytes[range.lowerBound + 6] == UInt8(ascii: "."), minor.isASCIIDigit
        else { throw .version }
        guard major == UInt8(ascii: "1") else { throw .unsupportedVersion }
        return Int(minor - UInt8(ascii: "0"))
    }

    private mutating func parseField(_ line: Range<Int>, of bytes: Span<UInt8>) throws(RequestError) {
        guard fields.count < limits.headerFields else { throw .tooManyFields }
        guard let field = FieldLine(bytes, at: line) else { throw RequestError(fieldLine: line, of: bytes) }
        try framing.add(field, in: bytes)
        fields.append(.init(name: offset(field.name), value: offset(field.value)))
    }

    /// Relative to the head's first byte. The limits keep a head far below 4 GiB.
    private func offset(_ range: Range<Int>) -> Range<UInt32> {
        UInt32(
            truncatingIfNeeded: range.lowerBound - headStart)..<UInt32(truncatingIfNeeded: range.upperBound - headStart)
    }

    /// Refuses a line as early as possible. Complete lines get the same checks, so that a head meets the same refusal
    /// however it is split.
    private func checkLine(_ bytes: Span<UInt8>, upTo end: Int) throws(RequestError) {
        guard lineStart < end else { return }
        let first = bytes[lineStart]
        if first == ASCII.carriageReturn {
            guard end - lineStart == 1 else { throw .bareCarriageReturn }
        } else if requestLine == nil {
            guard first.isToken else { throw .method }
        } else if ASCII.isWhitespace(first) {
            throw .lineFolding
        }
        // The line's CR is not counted.
        if requestLine == nil {
            guard end - lineStart - 1 <= limits.requestLineBytes else { throw .requestLineTooLong }
        } else {
            guard end - fieldsStart - 1 <= limits.headerBytes else { throw .fieldsTooLarge }
        }
    }
}
