public import HTTPTypes

/// An answer. `Content-Length`, `Date` and `Connection` are the server's own to write; setting them has no effect.
public struct Response: Sendable {
    public var status: HTTPResponse.Status
    public var headers: HTTPFields
    public var body: [UInt8]
    /// Makes the content as time goes on, in place of ``body``; nil for an answer that is whole.
    public var stream: ResponseProducer?
    /// Ask for the connection to be closed after this answer.
    public var closesConnection = false

    public init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer whose content is made as time goes on.
    public init(status: HTTPResponse.Status, headers: HTTPFields, stream: @escaping ResponseProducer) {
        self.init(status: status, headers: headers)
        self.stream = stream
    }

    /// A text answer.
    public init(status: HTTPResponse.Status, contentType: String, text: String) {
        self.init(status: status, headers: [.contentType: contentType], body: Array(text.utf8))
    }
}
