/// A URL that a request may be sent to: absolute, https (or http to loopback where that is allowed), without user
/// information or fragment.
///
/// Text from a configuration or a provider's metadata is checked once, when the value is made.
public struct EndpointURL: Sendable, Hashable, CustomStringConvertible {
    /// The scheme of a URL.
    public enum Scheme: String, Sendable { case http, https }

    /// Which schemes are allowed: https, and plain http to certain hosts.
    public struct Policy: Sendable, Hashable {
        /// No plain http.
        public static let httpsOnly = Policy(allowsLoopbackHTTP: false)
        /// Also plain http, but only to 127.0.0.0/8, ::1 and localhost: for development and tests.
        public static let allowLoopbackHTTP = Policy(allowsLoopbackHTTP: true)
        /// Also plain http to any host: for one that the administrator names.
        public static let allowHTTP = Policy(allowsLoopbackHTTP: true, allowsAnyHTTP: true)

        /// Whether plain http is allowed to loopback addresses.
        public var allowsLoopbackHTTP: Bool
        package private(set) var allowsAnyHTTP = false
        /// Other hosts that plain http is allowed to, in lower case.
        public var httpHosts: [String] = []

        /// Whether a URL that another policy allowed is allowed by this one, too.
        public func allows(_ url: EndpointURL) -> Bool { allows(url.scheme, to: url.host) }

        func allows(_ scheme: Scheme, to host: String) -> Bool {
            scheme == .https || allowsAnyHTTP || allowsLoopbackHTTP && HostName.isLoopback(host)
                || httpHosts.contains(host)
        }
    }

    /// The longest text accepted, in bytes.
    public static let maximumBytes = 2048

    /// The URL as it was written.
    public let text: String
    /// https, or http where the policy allowed it.
    public let scheme: Scheme
    /// In lower case; an IPv6 address without its brackets.
    public let host: String
    /// The port; 443 or 80 if the URL names none.
    public let port: UInt16

    public var description: String { text }

    /// Compares the texts, from which everything else follows.
    public static func == (left: EndpointURL, right: EndpointURL) -> Bool { left.text == right.text }

    public func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Whether ``host`` is spelled as loopback: `localhost`, 127.0.0.0/8 or `::1`.
    public var isLoopback: Bool { HostName.isLoopback(host) }

    /// Reads a URL. Nil if it is not absolute, its scheme is not allowed, it has user information, a fragment, or a
    /// character that RFC 3986 section 2 does not allow, its host is not valid, its port is outside 1 to 65535, or it
    /// is longer than ``maximumBytes``.
    public init?(_ text: String, policy: Policy) {
        guard text.utf8.count <= Self.maximumBytes, Self.hasOnlyURLCharacters(text) else { return nil }
        guard let (scheme, rest) = Self.splitScheme(text) else { return nil }
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        guard let (host, port) = Self.parseAuthority(Substring(authority), defaultPort: scheme == .https ? 443 : 80)
        else { return nil }
        guard policy.allows(scheme, to: host) else { return nil }
        self.init(text: text, scheme: scheme, host: host, port: port)
    }

    private init(text: String, scheme: Scheme, host: String, port: UInt16) {
        self.text = text
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The host, in brackets if it is an IPv6 address, and the port if it is not the scheme's usual one.
    package var authority: String { port == (scheme == .https ? 443 : 80) ? name : authorityWithPort }

    /// As ``authority``, always with the port.
    package var authorityWithPort: String { "\(name):\(port)" }

    private var name: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

    /// The URL without its query, for `htu` (RFC 9449 section 4.2). An empty path is `/` (RFC 3986 section 6.2.3).
    package var withoutQuery: String {
        let text = text.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(self.text[..<$0]) } ?? text
        let slashes = text.utf8.lazy.filter { $0 == UInt8(ascii: "/") }.prefix(3).count
        return slashes < 3 ? text + "/" : text
    }

    /// The query as it is sent; nil for a URL without one.
    package var query: Substring? {
        text.utf8.firstIndex(of: UInt8(ascii: "?")).map { text[text.utf8.index(after: $0)...] }
    }

    /// The URL with items added to its query, names and values percent-encoded. ``text`` may then be longer than
    /// ``maximumBytes``: the items are ours, and bounded by their own types.
    public func appending(query items: [(name: String, value: String)]) -> EndpointURL {
        guard !items.isEmpty else { return self }
        var bytes = Array(text.utf8)
        if let mark = bytes.firstIndex(of: UInt8(ascii: "?")) {
            let last = bytes.last
            if mark != bytes.count - 1, last != UInt8(ascii: "&") { bytes.append(UInt8(ascii: "&")) }
        } else {
            bytes.append(UInt8(ascii: "?"))
        }
        bytes += PercentEncoding.form(items)
        return EndpointURL(text: String(decoding: bytes, as: UTF8.self), scheme: scheme, host: host, port: port)
    }

    /// The URL with a path added to its own. It must have no query. ``text`` may then be longer than ``maximumBytes``
    /// by the path, which is ours.
    package func appending(path: String) -> EndpointURL {
        let base = text.hasSuffix("/") ? String(text.dropLast()) : text
        return EndpointURL(text: base + path, scheme: scheme, host: host, port: port)
    }

    /// The URL for a browser, which does not send the fragment.
    package func appending(fragment: String) -> EndpointURL {
        EndpointURL(text: text + "#" + fragment, scheme: scheme, host: host, port: port)
    }

    private static func splitScheme(_ text: String) -> (Scheme, Substring.UTF8View)? {
        for scheme in [Scheme.https, .http] {
            let prefix = scheme.rawValue + "://"
            let head = text.utf8.prefix(prefix.utf8.count)
            guard head.count == prefix.utf8.count,
                zip(head, prefix.utf8).allSatisfy({ $0.lowercasedASCII == $1 })
            else { continue }
            return (scheme, text.utf8.dropFirst(prefix.utf8.count))
        }
        return nil
    }

    private static func parseAuthority(_ authority: Substring, defaultPort: UInt16) -> (String, UInt16)? {
        let bytes = authority.utf8
        guard !bytes.contains(UInt8(ascii: "@")) else { return nil }
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")),
                let address = HostName.normalizedIPv6(authority[..<end].dropFirst())
            else { return nil }
            return parsePort(authority[bytes.index(after: end)...], default: defaultPort).map { (address, $0) }
        }
        let end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        guard let name = HostName.normalized(authority[..<end]) else { return nil }
        return parsePort(authority[end...], default: defaultPort).map { (name, $0) }
    }

    /// The number after the colon, or the default if there is neither.
    private static func parsePort(_ text: Substring, default port: UInt16) -> UInt16? {
        if text.isEmpty { return port }
        let digits = text.dropFirst()
        guard text.first == ":", digits.utf8.count <= 5, digits.isDecimal, let value = UInt16(digits), value > 0
        else { return nil }
        return value
    }

    /// Unreserved and reserved characters of RFC 3986 without `#`, and `%` with two hexadecimal digits.
    private static func hasOnlyURLCharacters(_ text: String) -> Bool {
        var digitsDue = 0
        for byte in text.utf8 {
            if digitsDue > 0 {
                guard byte.hexadecimalValue != nil else { return false }
                digitsDue -= 1
            } else if byte == UInt8(ascii: "%") {
                digitsDue = 2
            } else {
                guard PercentEncoding.isUnreserved(byte) || reserved.contains(byte) else { return false }
            }
        }
        return digitsDue == 0
    }

    private static let reserved = Array(":/?[]@!$&'()*+,;=".utf8)
}
