package import HTTPCore
package import Primitives

/// Parses a response incrementally (RFC 9112), decodes its codings and limits its size.
///
/// A value without I/O: it gets the bytes as they come, in pieces of any size.
///
/// What is refused, beyond syntax errors: a version other than 1.0 and 1.1; a status above 999 or below 100; 101; NUL
/// and other control characters in fields, white space before a colon; two lengths that differ, a length that is no
/// number; a transfer coding other than chunked, or any in HTTP/1.0; a content coding other than gzip; chunk lines
/// without CR LF; gzip data that end early, or that something follows.
///
/// What is accepted, because senders do it: a line feed alone as the end of a line of the head (section 2.2), a folded
/// field that does not decide on the framing (section 5.2), and several equal lengths (section 6.3).
package struct ResponseParser {
    /// For all lines of one response together: interim responses (1xx), chunk extensions and trailers included.
    package static let maximumHeadBytes = 32 * 1024

    enum State {
        case statusLine, fields
        case sized(left: Int)
        case untilEnd
        case chunks
        case complete
    }

    /// The field whose value a folded line continues.
    enum LastField { case none, framing, kept(ResponseHead.Text), other }

    /// The announced length may be false: no more than this is reserved for it.
    private static let reservedBytes = 64 * 1024

    private let maximumBodyBytes: Int
    /// Whether a successful response has no body (RFC 9110 section 9.3.6).
    let isOfConnect: Bool
    var state = State.statusLine
    /// The line that the bytes so far end within.
    private var partial: [UInt8] = []
    private var headBytes = 0
    private var codedBytes = 0
    var lastField = LastField.none
    private var chunks: ChunkedDecoder?
    private var inflater: Inflater?
    private var gzipHasEnded = false
    package internal(set) var head = ResponseHead()
    /// The decoded body so far.
    package private(set) var body: [UInt8] = []

    /// - Parameter bodyBytes: The most bytes of the body, before and after decompression.
    package init(bodyBytes: Int, isOfConnect: Bool = false) {
        maximumBodyBytes = bodyBytes
        self.isOfConnect = isOfConnect
    }

    /// Whether anything has come, be it an interim response.
    package var hasBegun: Bool { headBytes > 0 }

    package var isComplete: Bool { if case .complete = state { true } else { false } }

    /// Whether the connection can be used again, if nothing follows the response.
    package var allowsReuse: Bool { isComplete && head.allowsReuse }

    /// Takes bytes; returns how many of them belong to this response.
    package mutating func receive(_ bytes: Span<UInt8>) throws(ResponseError) -> Int {
        var index = 0
        while index < bytes.count {
            switch state {
            case .complete: return index
            case .sized(let left):
                let end = index + min(left, bytes.count - index)
                try take(bytes.extracting(index..<end))
                if end - index == left { try endBody() } else { state = .sized(left: left - (end - index)) }
                index = end
            case .untilEnd:
                try take(bytes.extracting(index..<bytes.count))
                index = bytes.count
            case .chunks: index = try receiveChunks(bytes, from: index)
            case .statusLine, .fields: index = try receiveLine(bytes, from: index)
            }
        }
        return index
    }

    package mutating func inputEnded() throws(ResponseError) {
        switch state {
        case .untilEnd: try endBody()
        case .complete: break
        default: throw .incomplete
        }
    }

    // MARK: Lines

    private mutating func receiveLine(_ bytes: Span<UInt8>, from start: Int) throws(ResponseError) -> Int {
        guard let lineFeed = bytes.lineFeed(from: start) else {
            let rest = bytes.extracting(start..<bytes.count)
            try countHead(rest.count)
            rest.withUnsafeBufferPointer { partial.append(contentsOf: $0) }
            if case .statusLine = state { try checkProtocol(partial.span, isWhole: false) }
            return bytes.count
        }
        try countHead(lineFeed + 1 - start)
        if partial.isEmpty {
            try receiveLine(bytes.extracting(start..<lineFeed))
        } else {
            let line = bytes.extracting(start..<lineFeed).withUnsafeBufferPointer { partial + $0 }
            partial = []
            try receiveLine(line.span)
        }
        return lineFeed + 1
    }

    private mutating func countHead(_ bytes: Int) throws(ResponseError) {
        headBytes += bytes
        guard headBytes <= Self.maximumHeadBytes else { throw .headTooLarge }
    }

    /// Reads a line without its line feed.
    private mutating func receiveLine(_ bytes: Span<UInt8>) throws(ResponseError) {
        let hasReturn = bytes.count > 0 && bytes[bytes.count - 1] == 0x0D
        let line = hasReturn ? bytes.extracting(0..<bytes.count - 1) : bytes
        switch state {
        case .statusLine: try receiveStatusLine(line)
        case .fields where line.isEmpty: try endHead()
        case .fields: try receiveField(line)
        case .sized, .untilEnd, .chunks, .complete: break
        }
    }

    // MARK: Body

    /// Decides on the framing of the body (RFC 9112 section 6.3).
    private mutating func endHead() throws(ResponseError) {
        if head.response.status < 200 {
            guard head.response.status != 101 else { throw .switchedProtocols }
            head = ResponseHead()
            lastField = .none
            state = .statusLine
            return
        }
        // The status says it all; a proxy's page is not read.
        if head.hasNoBody || isOfConnect {
            state = .complete
            return
        }
        if head.isChunked {
            guard head.minorVersion == 1 else { throw .transferEncoding }
            // Extensions and trailers share the limit of the head.
            let overheadBytes = Self.maximumHeadBytes - headBytes
            chunks = ChunkedDecoder(
                .init(overheadBytes: overheadBytes, contentBytes: maximumBodyBytes, isStrict: false))
            state = .chunks
        } else if let length = head.contentLength {
            guard length <= maximumBodyBytes else { throw .bodyTooLarge }
            state = .sized(left: length)
            if length == 0 { return state = .complete }
            body.reserveCapacity(min(length, Self.reservedBytes))
        } else {
            state = .untilEnd
        }
        guard head.isGzip else { return }
        guard let inflater = Inflater() else { throw .gzip }
        self.inflater = inflater
    }

    private mutating func receiveChunks(_ bytes: Span<UInt8>, from start: Int) throws(ResponseError) -> Int {
        var index = start
        while true {
            let step = try mappingErrors(try chunks?.next(bytes, from: &index) ?? .complete, to: ResponseError.init)
            switch step {
            case .content(let range): try take(bytes.extracting(range))
            // Trailers are checked, and ignored.
            case .trailer:
                guard let line = chunks?.trailer, FieldLine(line.span, at: line.indices) != nil else { throw .field }
            case .needsMore: return index
            case .complete:
                try endBody()
                return index
            }
        }
    }

    private mutating func take(_ bytes: Span<UInt8>) throws(ResponseError) {
        guard bytes.count <= maximumBodyBytes - codedBytes else { throw .bodyTooLarge }
        codedBytes += bytes.count
        guard let inflater else {
            bytes.withUnsafeBufferPointer { body.append(contentsOf: $0) }
            return
        }
        guard !gzipHasEnded else { throw .gzip }
        gzipHasEnded = try inflater.inflate(bytes, into: &body, limit: maximumBodyBytes)
    }

    private mutating func endBody() throws(ResponseError) {
        // An empty body has no coding to end.
        if inflater != nil, codedBytes > 0, !gzipHasEnded { throw .gzip }
        inflater = nil
        state = .complete
    }
}

/// The status and the header fields of a response that the client uses.
package struct ResponseHead: Sendable, Hashable {
    typealias Text = any WritableKeyPath<OutboundResponse, String?> & Sendable

    /// The response without its body; the status is 0 before the first line.
    package var response = OutboundResponse(status: 0)
    /// 0 or 1.
    package var minorVersion = 1
    package var contentLength: Int?
    package var isChunked = false
    package var isGzip = false
    package var connection = ConnectionOptions()

    /// Statuses whose responses have no body (RFC 9112 section 6.3).
    package var hasNoBody: Bool { response.status == 204 || response.status == 304 }

    /// Whether the connection may be used for another request: its sender agrees (RFC 9112 section 9.3), and the
    /// framing is unambiguous. Where both lengths are given, the coding counts, and the connection must be closed
    /// (section 6.3).
    package var allowsReuse: Bool {
        connection.keepAlive(minorVersion: minorVersion) && (hasNoBody || isChunked != (contentLength != nil))
    }
}
