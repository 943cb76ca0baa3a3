import Foundation

/// A URL that a visit may request: https, or http on this machine where that is allowed.
struct VisitedURL: Sendable, Hashable {
    let endpoint: CellularEndpoint
    /// Path and query.
    let target: String
    /// The value of `Host`.
    let authority: String
    private let url: URL

    static let limit = 8192

    init?(_ text: String, below base: VisitedURL? = nil, allowsLoopbackHTTP: Bool) {
        guard text.utf8.count <= Self.limit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URL(string: text, relativeTo: base?.url)?.absoluteURL,
            let scheme = url.scheme?.lowercased(), let host = url.host, !host.isEmpty, url.user == nil,
            url.password == nil
        else { return nil }
        let isLoopback = ["127.0.0.1", "localhost", "::1"].contains(host.lowercased())
        guard scheme == "https" || scheme == "http" && isLoopback && allowsLoopbackHTTP else { return nil }
        let port = url.port ?? (scheme == "https" ? 443 : 80)
        guard let number = UInt16(exactly: port), number > 0 else { return nil }
        endpoint = CellularEndpoint(host: host.lowercased(), port: number, usesTLS: scheme == "https")
        authority = (host.contains(":") ? "[\(host)]" : host) + (url.port.map { ":\($0)" } ?? "")
        guard let target = Self.target(of: url.absoluteString) else { return nil }
        self.target = target
        self.url = url
    }

    /// As it stands in the URL, because a signature may cover it.
    private static func target(of text: String) -> String? {
        guard let scheme = text.range(of: "://") else { return nil }
        let rest = text[scheme.upperBound...].prefix { $0 != "#" }
        guard let start = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
        return (rest[start] == "?" ? "/" : "") + rest[start...]
    }
}
