import OpenIDConnect
import Primitives

/// An HTTP proxy: `http://`, optional user information, a host and an optional port.
struct ProxyURL: Sendable, Hashable {
    let host: String
    let port: UInt16
    /// The value of `Proxy-Authorization`; nil for none.
    let authorization: String?

    /// Nil for a text of another form.
    init?(_ text: String) {
        let scheme = "http://"
        guard text.lowercased().hasPrefix(scheme) else { return nil }
        var authority = text.dropFirst(scheme.count)
        if authority.hasSuffix("/") { authority = authority.dropLast() }
        var user: Substring?
        if let at = authority.lastIndex(of: "@") {
            user = authority[..<at]
            authority = authority[authority.index(after: at)...]
        }
        // The rules for hosts and ports are those of any URL; the default port is another.
        let hasPort = authority.drop { $0 != "]" && authority.hasPrefix("[") }.contains(":")
        guard !authority.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }),
            let url = EndpointURL("https://\(authority)\(hasPort ? "" : ":1080")", policy: .httpsOnly)
        else { return nil }
        host = url.host
        port = url.port
        guard let user else {
            authorization = nil
            return
        }
        guard let decoded = PercentEncoding.decodePath(user.utf8) else { return nil }
        // RFC 7617 section 2: the user name ends at the first colon.
        authorization = "Basic " + Self.base64((decoded.contains(":") ? decoded : decoded + ":").utf8)
    }

    /// RFC 4648 section 4.
    private static func base64(_ bytes: some Collection<UInt8>) -> String {
        let text = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
