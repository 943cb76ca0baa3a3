import OpenIDConnect

/// The origin of a web page (RFC 6454), as browsers write it in `Origin`: scheme, host and, if it is not the scheme's
/// own, port.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    /// The serialized origin, such as `https://app.example.com`.
    public let text: String

    /// The same as ``text``.
    public var description: String { text }

    /// Parses an origin. Nil if the text has a path or query, or is not https (or http to loopback).
    public init?(_ text: String) {
        guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else { return nil }
        let authority = text.utf8.dropFirst(url.scheme.rawValue.utf8.count + 3)
        guard !authority.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else { return nil }
        let host = url.host.utf8.contains(UInt8(ascii: ":")) ? "[\(url.host)]" : url.host
        let isUsual = url.port == (url.scheme == .https ? 443 : 80)
        self.text = "\(url.scheme.rawValue)://\(host)" + (isUsual ? "" : ":\(url.port)")
    }
}
