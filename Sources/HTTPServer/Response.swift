public import HTTPTypes

/// An answer. `Content-Length`, `Date` and `Connection` are the server's own to write; setting them has no effect.
public struct Response: Sendable {
    public var status: HTTPResponse.Status
    public var headers: HTTPFields
    public var body: [UInt8]
    /// Ask for the connection to be closed after this answer.
    public var closesConnection = false

    public init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A text answer.
    public init(status: HTTPResponse.Status, contentType: String, text: String) {
        self.init(status: status, headers: [.contentType: contentType], body: Array(text.utf8))
    }
}
