public import HTTPTypes

/// A complete request: head and content. Strings are made of its bytes on demand.
public struct Request: Sendable {
    /// The request line and the fields.
    public let head: RequestHead
    /// The content after chunked decoding; empty if there is none.
    public let body: [UInt8]
    let client: ConnectedClient
    /// The `{name}` parts of the route's pattern.
    public internal(set) var parameters = PathParameters()
    /// The request's id in the log; empty until the handler sets it.
    public var id = ""

    /// The address at the other end of the connection.
    public var peer: SocketAddress { client.address }

    /// The client's certificate; nil if it sent none or was not asked.
    public var clientCertificate: ClientCertificate? { client.certificate }

    public var method: HTTPRequest.Method { head.method }

    /// The percent-decoded path: begins with `/`, or is `*` for `OPTIONS *`.
    public var path: String { head.path }

    /// The percent-decoded parameters after the `?`; empty if there is no query.
    /// - Throws: ``HTTPError`` 400 if the query is malformed (see ``Query/init(_:maximumItems:)``).
    public var query: Query {
        get throws(HTTPError) {
            guard let query = head.query else { throw .malformedQuery }
            return query
        }
    }

    /// As ``query``, of a browser that comes from elsewhere: what is malformed is repaired.
    /// - Throws: ``HTTPError`` 400 for more than 100 parameters.
    package var repairedQuery: Query {
        get throws(HTTPError) {
            guard let query = Query(repairing: (head.rawQuery ?? "").utf8) else { throw .malformedQuery }
            return query
        }
    }

    /// The fields of the head.
    public var headers: RequestHeaders { RequestHeaders(head: head) }
}

extension HTTPField.Name {
    // Each text is a token, so the fallback is never used.
    package static let host = HTTPField.Name("Host") ?? .from
    package static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .from
}

extension HTTPError {
    fileprivate static let malformedQuery = HTTPError(
        .badRequest, code: "invalid_request",
        message: "The query is malformed. Send at most 100 name=value pairs, joined by & and percent-encoded.")
}

extension Request {
    /// A request without a socket, for tests and for calling a router directly; read by the parser of the network.
    /// - Throws: An error if the target or a field is malformed.
    public init(
        _ method: HTTPRequest.Method, _ target: String, headers: HTTPFields = [:], body: [UInt8] = [],
        peer: SocketAddress = SocketAddress(host: "127.0.0.1", port: 1)
    ) throws {
        let limits = ServerLimits()
        var text = "\(method.rawValue) \(target) HTTP/1.1\r\n"
        if headers[.host] == nil { text += "Host: localhost\r\n" }
        for field in headers { text += "\(field.name.rawName): \(field.value)\r\n" }
        var parser = HeadParser(limits: MessageLimits(limits))
        guard case .complete(let head, _, _) = try parser.parse(Array((text + "\r\n").utf8).span) else {
            throw RequestError.incomplete
        }
        self.init(head: head, body: body, client: ConnectedClient(peer, streams: CountLimit(maximum: limits.streams)))
    }
}

extension Request {
    /// A streamed response to this request. Until it has ended, it counts in ``ServerLimits/streams``.
    /// - Parameter produce: Produces the content; not called for HEAD.
    /// - Throws: ``HTTPError`` 503 if there are too many streams.
    public func stream(
        status: HTTPResponse.Status = .ok, headers: HTTPFields, _ produce: @escaping ResponseProducer
    ) throws(HTTPError) -> Response {
        var response = Response(status: status, headers: headers)
        let place = method == .head ? nil : CountLimit.Place(in: client.streams)
        guard place != nil || method == .head else { throw .tooManyStreams }
        response.stream = StreamSource(produce: produce, place: place)
        return response
    }
}

extension HTTPError {
    fileprivate static let tooManyStreams = HTTPError(
        .serviceUnavailable, code: "temporarily_unavailable",
        message: "Too many responses are being streamed. Try again later.", headers: [.retryAfter: "30"])
}

/// The other end of a connection. All requests of the connection refer to it, so that copies of a request stay small.
final class ConnectedClient: Sendable {
    let address: SocketAddress
    /// Nil before the end of the handshake, and if the client sent none.
    let certificate: ClientCertificate?
    /// The streamed responses of the server.
    let streams: CountLimit

    init(_ address: SocketAddress, certificate: ClientCertificate? = nil, streams: CountLimit) {
        self.address = address
        self.certificate = certificate
        self.streams = streams
    }
}
