package import HTTPTypes

/// Why a request is refused before the handler: one case for each rule, with the response's message. The connection is
/// then closed, because the end of the message is no longer certain.
package enum RequestError: String, Error, Sendable, CaseIterable {
    // The request line (RFC 9112 section 3).
    case requestLine = "The request line is malformed. Send METHOD SP TARGET SP HTTP/1.1, with single spaces."
    case method = "The method is not a token. Send a method such as GET or POST."
    case methodTooLong = "The method is too long."
    case connect = "CONNECT is not supported: this server is not a proxy."
    case target = "The request target is malformed. Percent-encode what a URL does not allow."
    case path = """
        The target has a dot segment, an encoded slash, backslash or control character, or an escape that is not \
        UTF-8. Send it normalized.
        """
    case version = "The protocol version is malformed. Send HTTP/1.1."
    case unsupportedVersion = "The HTTP version is not supported. Send HTTP/1.1."
    case requestLineTooLong = "The request line is too long."
    // Line ends (RFC 9112 section 2.2).
    case bareLineFeed = "A line ends with LF alone. End each line with CR LF."
    case bareCarriageReturn = "There is a CR without LF. End each line with CR LF."
    case emptyLine = "There are empty lines before the request line. Remove them."
    // Fields (RFC 9112 section 5).
    case fieldName = "A field name is malformed. Send NAME: VALUE with a token as the name."
    case fieldValue = "A field value has a control character. Send visible characters, spaces and tabs."
    case whitespaceBeforeColon = "There is white space between a field name and its colon. Remove it."
    case lineFolding = "A field line begins with white space. Folded lines are obsolete; send each field on one line."
    case fieldsTooLarge = "The header fields are too large. Send less; in a browser, delete this site's cookies."
    case tooManyFields = "There are too many header fields. Send fewer."
    // Host (RFC 9112 section 3.2).
    case hostMissing = "The Host field is missing. Send it once."
    case hostRepeated = "The Host field is repeated. Send it once."
    case hostInvalid = "The Host field or the target's authority is malformed. Send host or host:port."
    // The content's length (RFC 9112 section 6).
    case contentLength = "Content-Length is not a number. Send decimal digits only."
    case contentLengthRepeated = "Content-Length is repeated. Send it once."
    case transferEncoding = "Transfer-Encoding is malformed or does not end in chunked. Send chunked, once, or none."
    case transferCodingUnknown = "No transfer coding but chunked is supported. Send chunked alone, or none."
    case transferEncodingAndLength = "Transfer-Encoding and Content-Length are both present. Send one of them."
    case transferEncodingInHTTP10 = "HTTP/1.0 has no transfer codings. Send Content-Length."
    // Chunks (RFC 9112 section 7.1).
    case chunkSize = "A chunk size is malformed. Send hexadecimal digits, then CR LF."
    case chunkExtension = "A chunk extension is malformed or too long. Send none."
    case chunkEnd = "A chunk does not end with CR LF after its size. Count its bytes."
    case trailerField = "A trailer field is malformed, too large, or not allowed as a trailer."
    case bodyTooLarge = "The content is too large."
    // The content's coding (RFC 9110 section 8.4).
    case contentCoding = "Compressed request bodies are not supported. Send the content without Content-Encoding."
    case expectation = "No expectation but 100-continue is supported."
    // Connections.
    case headerTimeout = "The header did not arrive in time."
    case bodyTimeout = "The content did not arrive in time."
    case incomplete = "The connection ended in the middle of the request."
    case tooManyConnections = "The server has too many connections. Try again later."
    case tooManyConnectionsOfAddress = "Your address has too many connections. Close some, or try again later."
    case plainHTTPOnTLS = "This port speaks HTTP over TLS. Use https:// instead of http://."
    case incompleteRequests = """
        Requests that have not arrived in full take too much memory, and those of your network most of it. Send \
        the whole request at once, or try again later.
        """
}

extension RequestError {
    package var httpError: HTTPError {
        HTTPError(kind.status, code: kind.code, message: rawValue, headers: headers)
    }

    private var headers: HTTPFields {
        switch self {
        case .tooManyConnections, .tooManyConnectionsOfAddress, .incompleteRequests: [.retryAfter: "5"]
        // RFC 9110 section 12.5.3: the accepted codings.
        case .contentCoding: [.acceptEncoding: "identity"]
        default: [:]
        }
    }

    package var status: HTTPResponse.Status { kind.status }

    private var kind: (status: HTTPResponse.Status, code: String) {
        switch self {
        case .methodTooLong, .connect: (.notImplemented, "not_implemented")
        case .unsupportedVersion: (.httpVersionNotSupported, "http_version_not_supported")
        case .requestLineTooLong: (.uriTooLong, "uri_too_long")
        case .fieldsTooLarge, .tooManyFields: (.requestHeaderFieldsTooLarge, "header_fields_too_large")
        case .bodyTooLarge: (.contentTooLarge, "payload_too_large")
        case .contentCoding: (.unsupportedMediaType, "unsupported_media_type")
        case .expectation: (.expectationFailed, "expectation_failed")
        case .headerTimeout, .bodyTimeout: (.requestTimeout, "request_timeout")
        case .tooManyConnections, .incompleteRequests: (.serviceUnavailable, "temporarily_unavailable")
        case .tooManyConnectionsOfAddress: (.tooManyRequests, "rate_limited")
        default: (.badRequest, "invalid_request")
        }
    }
}
