import HTTPServer
import HTTPTypes
public import Primitives

/// Finds out for whom a reverse proxy asks.
///
/// What a request says of its way is believed from the last word to the first, as long as whoever wrote it is a proxy of
/// the operator's: what stands before that anybody can have written.
public struct TrustedProxies: Sendable {
    /// Which field the proxies write. Only that one is looked at: the other comes from the client as it is.
    public enum Field: String, Sendable, CaseIterable {
        case xForwardedFor = "x-forwarded-for"
        /// RFC 7239.
        case forwarded
    }

    /// The proxies' addresses.
    public var ranges: [IPAddressRange]
    public var field: Field
    /// More proxies than any request passes.
    private static let maximumHops = 32

    public init(_ ranges: [IPAddressRange] = [], field: Field = .xForwardedFor) {
        self.ranges = ranges
        self.field = field
    }

    /// The address that a request comes from as far as can be trusted; nil if it has none. What a proxy says that cannot
    /// be read counts as the proxy's own.
    func client(of request: Request) -> IPAddress? {
        guard var client = IPAddress(request.peer.host) else { return nil }
        guard !ranges.isEmpty, isTrusted(client) else { return client }
        for word in hops(of: request).reversed().prefix(Self.maximumHops) {
            guard let address = Self.address(word) else { break }
            client = address
            guard isTrusted(client) else { break }
        }
        return client
    }

    /// The address for which trusted proxies ask; nil unless one of them is at the other end of the connection, and all that
    /// they say of the way can be read.
    func toldClient(of request: Request) -> IPAddress? {
        guard var client = IPAddress(request.peer.host), isTrusted(client) else { return nil }
        let hops = hops(of: request)
        guard !hops.isEmpty else { return nil }
        for word in hops.reversed().prefix(Self.maximumHops) where isTrusted(client) {
            guard let address = Self.address(word) else { return nil }
            client = address
        }
        return client
    }

    private func isTrusted(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }

    /// Whom each proxy on the way was asked by, the last one last.
    private func hops(of request: Request) -> [Substring] {
        switch field {
        case .xForwardedFor:
            request.headers.values(of: .xForwardedFor).flatMap {
                $0.split(separator: ",", omittingEmptySubsequences: false)
            }
        case .forwarded:
            request.headers.values(of: .forwarded).flatMap { Self.parts(of: $0[...], at: ",") }
                .map { Self.parts(of: $0, at: ";").compactMap(Self.forParameter).first ?? "" }
        }
    }

    /// The value of `for=…`.
    private static func forParameter(_ part: Substring) -> Substring? {
        let part = trimmed(part)
        guard part.prefix(4).lowercased() == "for=" else { return nil }
        var value = part.dropFirst(4)
        if value.first == "\"", value.last == "\"", value.count >= 2 { value = value.dropFirst().dropLast() }
        return value
    }

    /// Parts between signs that do not stand in a quoted text.
    private static func parts(of text: Substring, at sign: Character) -> [Substring] {
        var isQuoted = false
        return text.split(omittingEmptySubsequences: false) { character in
            if character == "\"" { isQuoted.toggle() }
            return character == sign && !isQuoted
        }
    }

    /// The address of `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
    private static func address(_ word: Substring) -> IPAddress? {
        var text = trimmed(word)
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            text = text[text.index(after: text.startIndex)..<end]
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            text = text[..<colon]
        }
        return IPAddress(String(text))
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}

extension HTTPField.Name {
    fileprivate static let xForwardedFor = HTTPField.Name("X-Forwarded-For") ?? .from
    fileprivate static let forwarded = HTTPField.Name("Forwarded") ?? .from
}
