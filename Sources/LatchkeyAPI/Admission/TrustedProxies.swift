import HTTPServer
import HTTPTypes
public import Primitives

/// Finds the client behind reverse proxies.
///
/// Reads the forwarding field from its last entry to its first, as long as the entry's writer is one of the operator's
/// proxies. Earlier entries may be forged, and are ignored.
public struct TrustedProxies: Sendable {
    /// The field that the proxies write. The other field is ignored, because a proxy passes on the client's.
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

    /// Trusts the proxies at these addresses.
    public init(_ ranges: [IPAddressRange] = [], field: Field = .xForwardedFor) {
        self.ranges = ranges
        self.field = field
    }

    /// The client's address as far as it can be trusted; nil without one. A malformed entry counts as the proxy itself.
    func client(of request: Request) -> IPAddress? {
        guard var client = request.peer.address else { return nil }
        guard !ranges.isEmpty, isTrusted(client) else { return client }
        for word in hops(of: request).reversed().prefix(Self.maximumHops) {
            guard let address = Self.address(word) else { break }
            client = address
            guard isTrusted(client) else { break }
        }
        return client
    }

    /// The address that trusted proxies forward for; nil unless the peer is one of them and all their entries are well
    /// formed.
    func forwardedClient(of request: Request) -> IPAddress? {
        guard var client = request.peer.address, isTrusted(client) else { return nil }
        let hops = hops(of: request)
        guard !hops.isEmpty else { return nil }
        for word in hops.reversed().prefix(Self.maximumHops) where isTrusted(client) {
            guard let address = Self.address(word) else { return nil }
            client = address
        }
        return client
    }

    private func isTrusted(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }

    /// The entries of all proxies, the last one last.
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

    /// Splits at a separator outside of quotes.
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
