import OpenIDConnect

/// The origin of a web page (RFC 6454), as browsers write it in `Origin`: scheme, host and, if it is not the scheme's
/// own, port.
public struct Origin: Sendable, Hashable, CustomStringConvertible {
    public let text: String

    public var description: String { text }

    /// The origin a text names, or nil if it has a path, query or anything else, or is not https (or http to
    /// loopback).
    public init?(_ text: String) {
        guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else { return nil }
        let authority = text.utf8.dropFirst(url.scheme.rawValue.utf8.count + 3)
        guard !authority.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else { return nil }
        let host = url.host.utf8.contains(UInt8(ascii: ":")) ? "[\(url.host)]" : url.host
        let isUsual = url.port == (url.scheme == .https ? 443 : 80)
        self.text = "\(url.scheme.rawValue)://\(host)" + (isUsual ? "" : ":\(url.port)")
    }
}
