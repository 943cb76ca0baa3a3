/// The status and the header fields of a response that the client uses.
package struct ResponseHead: Sendable, Hashable {
    package var status = 0
    /// 0 or 1.
    package var minorVersion = 1
    package var contentType: String?
    package var cacheControl: String?
    package var retryAfter: String?
    package var date: String?
    package var dpopNonce: String?
    package var wwwAuthenticate: String?
    package var contentLength: Int?
    /// Whether the body has the chunked transfer coding.
    package var isChunked = false
    /// Whether the body has the gzip content coding.
    package var isGzip = false
    /// Whether `Connection` has the option `close`.
    package var saysClose = false
    /// Whether `Connection` has the option `keep-alive`.
    package var saysKeepAlive = false

    package init() {}

    /// Statuses whose responses have no body (RFC 9112 section 6.3).
    package var hasNoBody: Bool { status == 204 || status == 304 }

    /// Whether the connection may be used for another request: its sender agrees (RFC 9112 section 9.3), and the
    /// framing is unambiguous. Where both lengths are given, the coding counts, and the connection must be closed
    /// (section 6.3).
    package var allowsReuse: Bool {
        guard !saysClose, minorVersion == 1 || saysKeepAlive else { return false }
        return hasNoBody || isChunked != (contentLength != nil)
    }
}
