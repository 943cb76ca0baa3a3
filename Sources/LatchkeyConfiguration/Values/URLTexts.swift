internal import OpenIDConnect
internal import Primitives

/// Redirect URIs of apps.
enum RedirectURIText {
    /// Schemes with which a browser runs or opens something instead of returning to an app.
    private static let refusedSchemes: Set<String> = ["javascript", "data", "vbscript", "file", "blob", "about"]

    /// The text, if it can be a redirect URI (RFC 6749 section 3.1.2, RFC 8252 section 7): absolute, without fragment;
    /// https, http to loopback, or a scheme of the app's own.
    static func check(_ text: String) throws(ValueRefusal) -> String {
        let example = "give one such as https://app.example.com/callback or com.example.app://callback"
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex,
            text.utf8.count <= 2000, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw ValueRefusal("is not an absolute URI", example) }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw ValueRefusal("has a fragment", example) }
        let scheme = text[..<colon].lowercased()
        guard isScheme(scheme), text.utf8.index(after: colon) < text.utf8.endIndex else {
            throw ValueRefusal("is not an absolute URI", example)
        }
        guard !refusedSchemes.contains(scheme) else { throw ValueRefusal("does not lead back to an app", example) }
        guard scheme != "https" && scheme != "http" || EndpointURL(text, policy: .allowLoopbackHTTP) != nil else {
            throw ValueRefusal("is not an https URL; plain http is for loopback only", example)
        }
        return text
    }

    /// RFC 3986 section 3.1, in lower case.
    private static func isScheme(_ text: String) -> Bool {
        guard let first = text.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return false }
        return text.consists(of: .lowerCaseAndDigits + "+-.")
    }
}

/// The proxy for outbound requests.
enum ProxyText {
    private static let scheme = "http://"

    /// The text as a secret, if it is a scheme, optional user information, a host and an optional port.
    static func check(_ text: String) throws(ValueRefusal) -> Secret {
        let example = "give one such as http://proxy.example.com:3128"
        guard text.hasPrefix(scheme) else { throw ValueRefusal("is not the URL of an http proxy", example) }
        var authority = text.dropFirst(scheme.count)
        if authority.hasSuffix("/") { authority = authority.dropLast() }
        guard text.utf8.count <= 1024, authority.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !authority.utf8.contains(where: { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 })
        else { throw ValueRefusal("has something besides user, host and port", example) }
        // The host and port follow the rules of any other URL.
        let host = authority.utf8.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.utf8.index(after: $0)...] }
        guard EndpointURL("https://\(host ?? authority)", policy: .httpsOnly) != nil else {
            throw ValueRefusal("has no proper host and port", example)
        }
        return Secret(text)
    }
}
