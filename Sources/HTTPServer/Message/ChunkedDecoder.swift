import Primitives

/// Decodes the chunked transfer coding (RFC 9112 section 7.1) incrementally. A pure value.
struct ChunkedDecoder {
    private enum State {
        case sizeLine
        case data(remaining: Int)
        case dataEnd
        case trailers
        case complete
    }

    /// Sizes with more digits are refused, leading zeros included.
    private static let maximumSizeDigits = 16
    private static let maximumSizeLineBytes = 1024

    private let limits: ServerLimits
    private var state = State.sizeLine
    /// The size line, chunk end or trailer line read so far.
    private var line: [UInt8] = []
    /// Bytes of extensions and trailers so far: they count against the limit of a header's bytes.
    private var overheadBytes = 0
    private var trailerCount = 0
    /// The content so far.
    private(set) var body: [UInt8] = []

    init(limits: ServerLimits) { self.limits = limits }

    var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Takes bytes; returns how many of them belong to this message.
    mutating func decode(_ bytes: Span<UInt8>) throws(RequestError) -> Int {
        var index = 0
        while index < bytes.count {
            switch state {
            case .data(let remaining):
                let end = min(bytes.count, index + remaining)
                bytes.extracting(index..<end).withUnsafeBufferPointer { body.append(contentsOf: $0) }
                state = end - index == remaining ? .dataEnd : .data(remaining: remaining - (end - index))
                index = end
            case .complete: return index
            case .sizeLine, .dataEnd, .trailers:
                try append(bytes[index])
                index += 1
            }
        }
        return index
    }

    private mutating func append(_ byte: UInt8) throws(RequestError) {
        if byte == ASCII.lineFeed {
            guard line.last == ASCII.carriageReturn else { throw .bareLineFeed }
            line.removeLast()
            try endLine()
            line.removeAll(keepingCapacity: true)
            return
        }
        if line.last == ASCII.carriageReturn { throw .bareCarriageReturn }
        line.append(byte)
        try checkUnfinishedLine()
    }

    private func checkUnfinishedLine() throws(RequestError) {
        switch state {
        case .sizeLine:
            guard line.count <= ChunkedDecoder.maximumSizeLineBytes else { throw .chunkExtension }
        case .dataEnd:
            guard line == [ASCII.carriageReturn] else { throw .chunkEnd }
        case .trailers:
            guard overheadBytes + line.count <= limits.headerBytes else { throw .trailerField }
        case .data, .complete: break
        }
    }

    private mutating func endLine() throws(RequestError) {
        switch state {
        case .sizeLine:
            let size = try parseSize()
            guard size <= limits.bodyBytes - body.count else { throw .bodyTooLarge }
            state = size > 0 ? .data(remaining: size) : .trailers
        case .dataEnd: state = .sizeLine
        case .trailers where line.isEmpty: state = .complete
        case .trailers: try checkTrailer()
        case .data, .complete: break
        }
    }

    private mutating func parseSize() throws(RequestError) -> Int {
        var size = 0
        var digits = 0
        while digits < line.count, let value = line[digits].hexadecimalValue {
            digits += 1
            guard digits <= ChunkedDecoder.maximumSizeDigits else { throw .chunkSize }
            let (shifted, overflow) = size.multipliedReportingOverflow(by: 16)
            guard !overflow else { throw .chunkSize }
            size = shifted + Int(value)
        }
        guard digits > 0 else { throw .chunkSize }
        overheadBytes += line.count - digits
        guard overheadBytes <= limits.headerBytes else { throw .chunkExtension }
        guard digits < line.count else { return size }
        var extensions = ChunkExtensions(line[digits...])
        guard extensions.hasExtension else { throw .chunkSize }
        guard extensions.areWellFormed() else { throw .chunkExtension }
        return size
    }

    /// Trailers are checked and dropped.
    private mutating func checkTrailer() throws(RequestError) {
        trailerCount += 1
        overheadBytes += line.count
        guard trailerCount <= limits.headerFields else { throw .trailerField }
        let field = try FieldLine(line.span, at: 0..<line.count)
        for name in ChunkedDecoder.namesForbiddenInTrailers where field.isNamed(name, in: line.span) {
            throw .trailerField
        }
    }

    /// Fields that change framing, routing, conditions, authentication or the content's meaning (RFC 9110 section
    /// 6.5.1).
    private static let namesForbiddenInTrailers: [StaticString] = [
        "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-range",
        "content-type", "cookie", "expect", "forwarded", "host", "keep-alive", "max-forwards", "origin", "pragma",
        "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto",
    ]
}

/// `;name=value` after a chunk size (RFC 9112 section 7.1.1): checked, and ignored.
private struct ChunkExtensions {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Whether an extension follows, rather than something that is neither size nor extension.
    var hasExtension: Bool { rest.first { !FieldLine.isWhitespace($0) } == UInt8(ascii: ";") }

    mutating func areWellFormed() -> Bool {
        while !rest.isEmpty {
            skipWhitespace()
            guard rest.popFirst() == UInt8(ascii: ";") else { return false }
            skipWhitespace()
            guard skipToken() else { return false }
            guard rest.drop(while: FieldLine.isWhitespace).first == UInt8(ascii: "=") else { continue }
            skipWhitespace()
            rest.removeFirst()
            skipWhitespace()
            guard rest.first == UInt8(ascii: "\"") ? skipQuotedString() : skipToken() else { return false }
        }
        return true
    }

    private mutating func skipWhitespace() { rest = rest.drop(while: FieldLine.isWhitespace) }

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
