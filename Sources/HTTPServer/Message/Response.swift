public import HTTPTypes

/// A response. The server writes `Content-Length`, `Date` and `Connection`; setting them has no effect.
public struct Response: Sendable {
    /// The status.
    public var status: HTTPResponse.Status
    /// The fields.
    public var headers: HTTPFields
    /// The content.
    public var body: [UInt8]
    /// Streams the content in place of ``body``; nil for a response that is complete.
    public var stream: ResponseProducer?
    /// Closes the connection after this response.
    public var closesConnection = false

    /// A complete response.
    public init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A streamed response.
    public init(status: HTTPResponse.Status, headers: HTTPFields, stream: @escaping ResponseProducer) {
        self.init(status: status, headers: headers)
        self.stream = stream
    }

    /// A complete response of text.
    public init(status: HTTPResponse.Status, contentType: String, text: String) {
        self.init(status: status, headers: [.contentType: contentType], body: Array(text.utf8))
    }
}
