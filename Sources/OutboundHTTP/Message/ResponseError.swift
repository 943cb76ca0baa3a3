import HTTPCore
package import Primitives

/// Why a response is refused: one case for each rule, with the reason, which has no content of the response.
package enum ResponseError: String, Error, Sendable, CaseIterable {
    /// It does not begin with a status line of HTTP/1.
    case notHTTP = "the response is not HTTP/1"
    case statusLine = "the response's status line is not valid"
    /// A carriage return without a line feed, or a chunk's line without a carriage return.
    case lineEnd = "the response has a line end that is not valid"
    case field = "the response has a header field that is not valid"
    /// A line that begins with white space and follows no field, or a field that decides on the framing.
    case folding = "the response folds a header field that must not be folded"
    case contentLength = "the response's Content-Length is not valid"
    case transferEncoding = "the response's Transfer-Encoding is not supported"
    case contentEncoding = "the response's Content-Encoding is not supported"
    case gzip = "the response's gzip data are not valid"
    case chunk = "the response has a chunk that is not valid"
    /// 101, which no request asks for.
    case switchedProtocols = "the server switched to another protocol"
    case incomplete = "the connection ended before the response was complete"
    case headTooLarge = "the response's head is too large"
    case bodyTooLarge = "the response is too large"

    package var code: OutboundError.Code {
        switch self {
        case .headTooLarge, .bodyTooLarge: .tooLarge
        default: .malformed
        }
    }
}

extension ResponseError {
    init(_ fault: ChunkedCodingError) {
        switch fault {
        case .bareLineFeed(.size), .bareLineFeed(.trailers): self = .lineEnd
        case .bareCarriageReturn(.trailers): self = .field
        case .size, .extensions, .contentEnd, .bareLineFeed, .bareCarriageReturn: self = .chunk
        case .tooMuchOverhead, .tooManyTrailers: self = .headTooLarge
        case .contentTooLarge: self = .bodyTooLarge
        }
    }
}
