public import HTTPTypes

/// A response. The server writes `Content-Length`, `Date`, `Connection` and `X-Content-Type-Options: nosniff`; setting
/// them has no effect.
public struct Response: Sendable {
    public var status: HTTPResponse.Status
    public var headers: HTTPFields
    /// The request's id, sent as `X-Request-Id`; nil for none. Not among ``headers``, which most responses of a kind
    /// share: another field there would be a copy of all for each response. Visible ASCII characters only.
    package var requestID: String?
    /// The content.
    public var body: [UInt8] {
        get { content.array }
        set { content = ResponseContent(newValue) }
    }
    var content: ResponseContent
    /// Streams the content in place of ``body``; nil for a response that is complete.
    var stream: StreamSource?

    /// A complete response.
    public init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        content = ResponseContent(body)
    }

    /// A complete response whose content is also held by another object, and not copied for each client.
    /// - Parameters:
    ///   - part: The bytes to send; nil for all.
    ///   - owner: Holds the bytes, too, and lives until the last client has received them.
    package init(
        status: HTTPResponse.Status, headers: HTTPFields, body: [UInt8], part: Range<Int>? = nil,
        ownedBy owner: any AnyObject & Sendable
    ) {
        self.status = status
        self.headers = headers
        content = ResponseContent(body, part: part, owner: owner)
    }

    /// The object that holds the content for other responses, too.
    package var owner: (any AnyObject & Sendable)? { content.owner }

    /// A complete response of text.
    public init(status: HTTPResponse.Status, contentType: String, text: String) {
        self.init(status: status, headers: [.contentType: contentType], body: Array(text.utf8))
    }
}

struct ResponseContent: Sendable {
    let bytes: [UInt8]
    /// The bytes to send.
    let part: Range<Int>
    /// Holds the bytes for other responses, too; nil if they are of this response only.
    let owner: (any AnyObject & Sendable)?

    init(_ bytes: [UInt8], part: Range<Int>? = nil, owner: (any AnyObject & Sendable)? = nil) {
        self.bytes = bytes
        self.part = part?.clamped(to: bytes.indices) ?? bytes.indices
        self.owner = owner
    }

    var count: Int { part.count }

    var array: [UInt8] { part.count == bytes.count ? bytes : Array(bytes[part]) }
}

/// Writes the content of a streamed response, a piece at a time.
///
/// A write returns when the socket has taken the whole piece: a slow reader delays the writer, and at most one piece is
/// buffered. A reader that does not take a piece within ``ServerTimeouts/write`` is disconnected.
public struct ResponseWriter: Sendable {
    /// The reader has gone or was too slow, the server stops, or another write is in progress.
    public struct Ended: Error {}

    private let send: @Sendable ([UInt8]) async -> Bool

    init(send: @escaping @Sendable ([UInt8]) async -> Bool) { self.send = send }

    /// Sends some bytes; an empty array does nothing.
    /// - Throws: ``Ended`` if they cannot be sent.
    public func write(_ bytes: [UInt8]) async throws(Ended) {
        guard !bytes.isEmpty else { return }
        guard await send(bytes) else { throw Ended() }
    }
}

/// Produces the content of a streamed response. The response is complete when it returns; when it throws, the
/// connection is cut, so that the client notices the missing end. Its task is cancelled when the reader goes or the
/// server stops; later writes throw, and it must return.
public typealias ResponseProducer = @Sendable (ResponseWriter) async throws -> Void

struct StreamSource: Sendable {
    let produce: ResponseProducer
    /// Among the streams of the server; nil for HEAD.
    let place: CountLimit.Place?
}

/// A streamed response in progress. For its connection's loop only.
struct ResponseStream {
    /// Produces the content, until it is cancelled.
    let task: Task<Void, Never>
    /// Waits while a piece is being sent: one at a time. Resumed with whether the socket has taken the piece.
    var waiting: CheckedContinuation<Bool, Never>?

    func end() {
        task.cancel()
        waiting?.resume(returning: false)
    }
}
