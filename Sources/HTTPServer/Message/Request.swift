public import HTTPTypes

/// A whole request: head and content. Text is made from its bytes only when it is asked for.
public struct Request: Sendable {
    /// The request line and the fields, as they were received and found well formed.
    public let head: RequestHead
    /// The content, after any chunked coding was undone. Empty if there is none.
    public let body: [UInt8]
    /// Who sent it: the address at the other end of the connection.
    public let peer: SocketAddress
    /// What the router found for the `{name}` parts of its pattern.
    public internal(set) var parameters = PathParameters()
    /// What the client has shown in its TLS handshake; nil for one that was not asked, or has none.
    public internal(set) var clientCertificate: ClientCertificate?
    /// What the request is called in the log; empty until whoever handles it gives it a name.
    public var id = ""

    public init(head: RequestHead, body: [UInt8], peer: SocketAddress) {
        self.head = head
        self.body = body
        self.peer = peer
    }

    public var method: HTTPRequest.Method { head.method }

    /// The percent-decoded path: always begins with `/`, or is `*` for `OPTIONS *`.
    public var path: String { head.path }

    /// The percent-decoded parameters after the `?`; empty if there is no query.
    /// - Throws: ``HTTPError`` 400 if the query is malformed (see ``Query/init(_:maximumItems:)``).
    public var query: Query {
        get throws(HTTPError) {
            guard let query = head.query else { throw .malformedQuery }
            return query
        }
    }

    /// The fields of the head.
    public var headers: RequestHeaders { RequestHeaders(head: head) }
}

extension HTTPError {
    fileprivate static let malformedQuery = HTTPError(
        .badRequest, code: "invalid_request",
        message: "The query is malformed. Send name=value pairs, joined by & and percent-encoded.")
}
