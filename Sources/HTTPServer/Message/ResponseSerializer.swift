import HTTPCore
package import HTTPTypes

/// Writes responses as HTTP/1.1 messages (RFC 9112 sections 4 to 6).
package struct ResponseSerializer {
    static let continueLine = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// The properties of the request and the connection that a response depends on.
    package struct Context {
        let method: HTTPRequest.Method
        let minorVersion: Int
        let closes: Bool

        package init(method: HTTPRequest.Method, minorVersion: Int, closes: Bool) {
            self.method = method
            self.minorVersion = minorVersion
            self.closes = closes
        }
    }

    /// Appends a response, or the head of a streamed one.
    package static func append(_ response: Response, for context: Context, date: [UInt8], to output: inout [UInt8]) {
        append("HTTP/1.1 ", to: &output)
        append(decimal: response.status.code, to: &output)
        output.append(ASCII.space)
        output.append(contentsOf: response.status.reasonPhrase.utf8)
        append("\r\n", to: &output)
        output.append(contentsOf: date)
        for field in response.headers where !isReserved(field.name) {
            output.append(contentsOf: field.name.rawName.utf8)
            append(": ", to: &output)
            output.append(contentsOf: field.value.utf8)
            append("\r\n", to: &output)
        }
        appendConnection(context, to: &output)
        let hasContent = mayHaveContent(response.status)
        if hasContent, response.stream != nil {
            // HTTP/1.0 has no chunks: the content ends with the connection (RFC 9112 section 6.3).
            if context.minorVersion > 0 { append("Transfer-Encoding: chunked\r\n", to: &output) }
        } else if hasContent {
            append("Content-Length: ", to: &output)
            append(decimal: response.body.count, to: &output)
            append("\r\n", to: &output)
        }
        append("\r\n", to: &output)
        if hasContent, context.method != .head { output.append(contentsOf: response.body) }
    }

    /// Appends a piece of a stream.
    static func append(chunk bytes: [UInt8], isFramed: Bool, to output: inout [UInt8]) {
        guard isFramed else { return output.append(contentsOf: bytes) }
        output.append(contentsOf: String(bytes.count, radix: 16).utf8)
        append("\r\n", to: &output)
        output.append(contentsOf: bytes)
        append("\r\n", to: &output)
    }

    /// The end of a stream.
    static let lastChunk = Array("0\r\n\r\n".utf8)

    private static func appendConnection(_ context: Context, to output: inout [UInt8]) {
        if context.closes {
            append("Connection: close\r\n", to: &output)
        } else if context.minorVersion == 0 {
            append("Connection: keep-alive\r\n", to: &output)
        }
    }

    /// Only the server writes the fields of the framing.
    private static func isReserved(_ name: HTTPField.Name) -> Bool {
        name == .contentLength || name == .connection || name == .transferEncoding || name == .date
    }

    /// RFC 9110 section 6.4.1.
    static func mayHaveContent(_ status: HTTPResponse.Status) -> Bool {
        status.code >= 200 && status.code != 204 && status.code != 304
    }

    private static func append(_ text: StaticString, to output: inout [UInt8]) {
        text.withUTF8Buffer { output.append(contentsOf: $0) }
    }

    private static func append(decimal number: Int, to output: inout [UInt8]) {
        output.append(contentsOf: String(number).utf8)
    }
}
