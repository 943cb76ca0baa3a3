import HTTPCore
import HTTPTypes
import Primitives

/// Writes responses as HTTP/1.1 messages (RFC 9112 sections 4 to 6).
enum ResponseSerializer {
    static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// The properties of the request and the connection that a response depends on.
    struct Context {
        let method: HTTPRequest.Method
        let minorVersion: Int
        let closes: Bool
    }

    static func streams(_ response: borrowing Response, to method: HTTPRequest.Method) -> Bool {
        response.stream != nil && method != .head && mayHaveContent(response.status)
    }

    /// Whether a response is sent with its content at once.
    static func sendsContent(of response: borrowing Response, for context: Context) -> Bool {
        context.method != .head && response.stream == nil && mayHaveContent(response.status)
    }

    /// Appends a response, or the head of a streamed one.
    /// - Parameters:
    ///   - date: The lines of ``DateField``.
    ///   - withContent: Whether the content follows the head at once.
    static func append(
        _ response: borrowing Response, for context: Context, date: [UInt8], withContent: Bool = true,
        to output: inout [UInt8]
    ) {
        let hasContent = mayHaveContent(response.status)
        let isStreamed = hasContent && response.stream != nil
        let content = withContent && sendsContent(of: response, for: context) ? response.body : []
        let (phrase, contentLength) = (response.status.reasonPhrase, response.content.count)
        let code = response.status.code
        output.reserveCapacity(output.count + usualHeadBytes + content.count)
        let requestID = response.requestID
        let requestIDBytes = requestID?.utf8.count ?? 0
        output.append(addingCapacity: fixedBytes + phrase.utf8.count + date.count + requestIDBytes) { message in
            message.append("HTTP/1.1 ")
            message.append(decimal: code)
            message.append(ASCII.space)
            message.append(phrase)
            message.append("\r\n")
            message.append(date)
            if let requestID {
                message.append("X-Request-Id: ")
                message.append(requestID)
                message.append("\r\n")
            }
        }
        for field in response.headers { append(field, to: &output) }
        output.append(addingCapacity: fixedBytes + content.count) { message in
            appendConnection(context, to: &message)
            if isStreamed {
                // HTTP/1.0 has no chunks: the content ends with the connection (RFC 9112 section 6.3).
                if context.minorVersion > 0 { message.append("Transfer-Encoding: chunked\r\n") }
            } else if hasContent {
                message.append("Content-Length: ")
                message.append(decimal: contentLength)
                message.append("\r\n")
            }
            message.append("\r\n")
            message.append(content)
        }
    }

    /// More than the status line without its phrase with the name of the request's id, and than the fields of the
    /// framing with the empty line.
    private static let fixedBytes = 128
    /// Of most heads, so that their output grows once.
    private static let usualHeadBytes = 512

    private static func append(_ field: HTTPField, to output: inout [UInt8]) {
        let name = field.name.rawName
        guard !isReserved(field.name, length: name.utf8.count) else { return }
        field.withUnsafeBytesOfValue { value in
            output.append(addingCapacity: name.utf8.count + value.count + 4) { message in
                message.append(name)
                message.append(": ")
                message.append(value)
                message.append("\r\n")
            }
        }
    }

    static func append(chunk bytes: [UInt8], isFramed: Bool, to output: inout [UInt8]) {
        guard isFramed else { return output.append(contentsOf: bytes) }
        output.append(contentsOf: String(bytes.count, radix: 16).utf8)
        output.append(contentsOf: "\r\n".utf8)
        output.append(contentsOf: bytes)
        output.append(contentsOf: "\r\n".utf8)
    }

    static let lastChunk = Array("0\r\n\r\n".utf8)

    private static func appendConnection(_ context: Context, to message: inout OutputSpan<UInt8>) {
        if context.closes {
            message.append("Connection: close\r\n")
        } else if context.minorVersion == 0 {
            message.append("Connection: keep-alive\r\n")
        }
    }

    /// Only the server writes the fields of the framing, and those that every response has.
    private static func isReserved(_ name: HTTPField.Name, length: Int) -> Bool {
        switch length {
        case 4: name == .date
        case 10: name == .connection
        case 14: name == .contentLength
        case 17: name == .transferEncoding
        case 22: name == .xContentTypeOptions
        default: false
        }
    }

    /// RFC 9110 section 6.4.1.
    static func mayHaveContent(_ status: HTTPResponse.Status) -> Bool {
        status.code >= 200 && status.code != 204 && status.code != 304
    }
}
