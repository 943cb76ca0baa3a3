/// An HTTP proxy: `http://`, optional user information, a host and an optional port.
///
/// The one parser of proxies, for the configuration and for the client that uses it.
package struct ProxyURL: Sendable, Hashable {
    /// What is wrong with a text. It never repeats the text, which may hold a password.
    package enum Fault: String, Error, Sendable, CaseIterable {
        case scheme = "is not the URL of an http proxy"
        case extra = "has something besides user, host and port"
        case server = "has no proper host and port"
        case user = "has a user or password that is not percent-encoded (a percent sign is written %25)"
    }

    /// The port of a URL without one.
    package static let defaultPort: UInt16 = 1080
    private static let maximumBytes = 1024

    package let host: String
    package let port: UInt16
    /// The value of `Proxy-Authorization`; nil for none.
    package let authorization: String?

    package init(_ text: String) throws(Fault) {
        let scheme = "http://"
        guard text.utf8.count <= Self.maximumBytes, text.lowercased().hasPrefix(scheme) else { throw .scheme }
        var authority = text.dropFirst(scheme.count)
        if authority.hasSuffix("/") { authority = authority.dropLast() }
        guard authority.utf8.allSatisfy({ $0.isVisibleASCII && !Self.delimiters.contains($0) }) else {
            throw .extra
        }
        var user: Substring?
        if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            user = authority[..<at]
            authority = authority[authority.utf8.index(after: at)...]
        }
        // Hosts and ports have the rules of any URL; the default port differs.
        let hasPort = authority.drop { $0 != "]" && authority.hasPrefix("[") }.contains(":")
        guard
            let url = EndpointURL("https://\(authority)\(hasPort ? "" : ":\(Self.defaultPort)")", policy: .httpsOnly)
        else { throw .server }
        host = url.host
        port = url.port
        guard let user else {
            authorization = nil
            return
        }
        guard let decoded = PercentEncoding.decodePath(user.utf8) else { throw .user }
        // RFC 7617 section 2: the user name ends at the first colon.
        authorization = "Basic " + Base64.encode(Array((decoded.contains(":") ? decoded : decoded + ":").utf8))
    }

    /// What ends an authority: path, query or fragment (RFC 3986 section 3.2).
    private static let delimiters = Array("/?#".utf8)
}
