import HTTPCore

/// The content of a request in chunks, as far as it has come. A pure value.
struct ChunkedBody {
    private var decoder: ChunkedDecoder
    private(set) var content: [UInt8] = []

    init(limits: MessageLimits) {
        decoder = ChunkedDecoder(
            .init(
                overheadBytes: limits.headerBytes, contentBytes: limits.bodyBytes, trailerFields: limits.headerFields))
    }

    var isComplete: Bool { decoder.isComplete }

    /// Takes bytes; returns how many of them belong to this message.
    mutating func receive(_ bytes: Span<UInt8>) throws(RequestError) -> Int {
        var index = 0
        while true {
            let step: ChunkedDecoder.Step
            do throws(ChunkedCodingError) {
                step = try decoder.next(bytes, from: &index)
            } catch {
                throw RequestError(error)
            }
            switch step {
            case .content(let range):
                bytes.extracting(range).withUnsafeBufferPointer { content.append(contentsOf: $0) }
            case .trailer: try Self.checkTrailer(decoder.trailer.span)
            case .needsMore, .complete: return index
            }
        }
    }

    /// Trailers are checked and dropped.
    private static func checkTrailer(_ line: Span<UInt8>) throws(RequestError) {
        guard let field = FieldLine(line, at: 0..<line.count) else {
            throw RequestError(fieldLine: 0..<line.count, of: line)
        }
        for name in namesForbiddenInTrailers where line.equals(field.name, name) { throw .trailerField }
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

extension RequestError {
    fileprivate init(_ fault: ChunkedCodingError) {
        switch fault {
        case .size: self = .chunkSize
        case .extensions: self = .chunkExtension
        case .contentEnd: self = .chunkEnd
        case .bareLineFeed: self = .bareLineFeed
        case .bareCarriageReturn: self = .bareCarriageReturn
        case .tooMuchOverhead(.size), .tooMuchOverhead(.contentEnd): self = .chunkExtension
        case .tooMuchOverhead(.trailers), .tooManyTrailers: self = .trailerField
        case .contentTooLarge: self = .bodyTooLarge
        }
    }
}
