import HTTPCore
package import Primitives

package struct RequestWriter: Sendable {
    package enum Recipient: Sendable { case server, proxy }

    /// Fields that decide on the framing or the connection, which are this client's.
    private static let reserved: Set<String> = [
        "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect",
        "proxy-authorization", "proxy-connection", "keep-alive", "accept-encoding",
    ]

    private let userAgent: [UInt8]
    /// `Proxy-Authorization` with its line end; empty for none.
    private let proxyAuthorization: [UInt8]

    package init(userAgent: String, proxyAuthorization: String? = nil) {
        self.userAgent = Array("User-Agent: \(userAgent)\r\n".utf8)
        self.proxyAuthorization = Array(
            (proxyAuthorization.map { "Proxy-Authorization: \($0)\r\n" } ?? "").utf8)
    }

    /// Whether the fields are valid (RFC 9110 sections 5.1 and 5.5), so that no value can add another field, and none
    /// decides on the framing.
    package static func isLegal(_ fields: [(name: String, value: String)]) -> Bool {
        for (name, value) in fields {
            guard !name.isEmpty, name.withBytes({ $0.consists { $0.isToken } }),
                value.withBytes({ $0.consists(of: ASCII.isFieldValue) }), !isReserved(name)
            else { return false }
        }
        return true
    }

    private static func isReserved(_ name: String) -> Bool {
        // The usual fields are not looked up.
        switch name.utf8.count {
        case 13 where name == "Authorization": false
        case 12 where name == "Content-Type": false
        case 6 where name == "Accept": false
        default: reserved.contains(name.lowercased())
        }
    }

    /// Appends a whole request. Its fields must be legal.
    package func append(_ request: OutboundRequest, to recipient: Recipient, _ bytes: inout [UInt8]) {
        let hasBody = request.method == .post
        bytes.reserveCapacity(bytes.count + mostBytes(of: request))
        bytes += hasBody ? "POST " : "GET "
        Self.appendTarget(of: request.url, to: recipient, &bytes)
        bytes += " HTTP/1.1\r\nHost: "
        bytes += request.url.authority.utf8
        bytes += "\r\n"
        var (hasAgent, hasAccept) = (false, false)
        for (name, value) in request.headers {
            let field = name.utf8.span
            if field.equals(field.indices, "user-agent") { hasAgent = true }
            if field.equals(field.indices, "accept") { hasAccept = true }
            bytes += name.utf8
            bytes += ": "
            bytes += value.utf8
            bytes += "\r\n"
        }
        if !hasAgent { bytes += userAgent }
        if !hasAccept { bytes += "Accept: */*\r\n" }
        if recipient == .proxy { bytes += proxyAuthorization }
        bytes += "Accept-Encoding: gzip\r\n"
        guard hasBody else {
            bytes += "\r\n"
            return
        }
        bytes += "Content-Length: "
        bytes += String(request.body.count).utf8
        bytes += "\r\n\r\n"
        bytes += request.body
    }

    /// No request takes more bytes. An array that grows would leave a copy of codes and client secrets in memory.
    package func mostBytes(of request: OutboundRequest) -> Int {
        let fields = request.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        return Self.fixedBytes + 2 * request.url.text.utf8.count + userAgent.count + proxyAuthorization.count + fields
            + request.body.count
    }

    /// More than the request line without its target, and the fields of the framing and the codings.
    private static let fixedBytes = 192

    /// Appends a request for a tunnel to the URL's host and port (RFC 9110 section 9.3.6).
    package func appendConnect(to url: EndpointURL, _ bytes: inout [UInt8]) {
        let mostBytes = Self.fixedBytes + 2 * url.authorityWithPort.utf8.count
        bytes.reserveCapacity(bytes.count + mostBytes + userAgent.count + proxyAuthorization.count)
        bytes += "CONNECT \(url.authorityWithPort) HTTP/1.1\r\nHost: \(url.authorityWithPort)\r\n".utf8
        bytes += userAgent
        bytes += proxyAuthorization
        bytes += "\r\n"
    }

    /// The path and the query as they are written; the whole URL for a proxy (RFC 9112 section 3.2).
    private static func appendTarget(of url: EndpointURL, to recipient: Recipient, _ bytes: inout [UInt8]) {
        if recipient == .proxy {
            bytes += "http://"
            bytes += url.authority.utf8
        }
        url.text.withBytes { text in
            // Past the scheme's "://".
            let rest = text[(url.scheme == .https ? 8 : 7)...]
            guard let path = rest.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
                bytes += "/"
                return
            }
            if rest[path] == UInt8(ascii: "?") { bytes += "/" }
            bytes += UnsafeBufferPointer(rebasing: rest[path...])
        }
    }
}

extension [UInt8] {
    fileprivate static func += (bytes: inout [UInt8], text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }
}
