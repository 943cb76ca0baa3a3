import HTTPServer
import HTTPTypes
public import Primitives

/// Finds the client behind reverse proxies.
///
/// Reads the forwarding field from its last entry to its first, as long as the entry's writer is one of the
/// administrator's proxies. Earlier entries may be forged, and are ignored.
public struct TrustedProxies: Sendable {
    /// The field that the proxies write. The other field is ignored, because a proxy passes on the client's.
    public enum Field: String, Sendable, CaseIterable {
        case xForwardedFor = "x-forwarded-for"
        /// RFC 7239.
        case forwarded

        fileprivate var name: HTTPField.Name { self == .forwarded ? .forwarded : .xForwardedFor }
    }

    /// The proxies' addresses.
    public var ranges: [IPAddressRange] = []
    public var field = Field.xForwardedFor
    /// The name of the field in which the proxies write the client's port; nil if they do not.
    public var portField: String?
    /// More proxies than any request passes.
    private static let maximumHops = 32

    /// The client's address as far as it can be trusted; nil without one. A malformed entry counts as the proxy itself.
    func client(of request: Request) -> IPAddress? {
        guard var client = request.peer.address else { return nil }
        guard !ranges.isEmpty, isTrusted(client) else { return client }
        for hop in hops(of: request) {
            guard let hop else { break }
            client = hop
            guard isTrusted(client) else { break }
        }
        return client
    }

    /// The port of ``client(of:)``; nil if it is not known.
    func clientPort(of request: Request) -> UInt16? {
        guard let peer = request.peer.address, isTrusted(peer) else { return request.peer.port }
        let text = portField.flatMap { HTTPField.Name($0) }.flatMap { request.headers[$0] }
        return text.flatMap { $0.isDecimal ? UInt16($0) : nil }.flatMap { $0 == 0 ? nil : $0 }
    }

    /// The address that trusted proxies forward for; nil unless the peer is one of them and all their entries are well
    /// formed.
    func forwardedClient(of request: Request) -> IPAddress? {
        guard var client = request.peer.address, isTrusted(client) else { return nil }
        var isForwarded = false
        for hop in hops(of: request) where isTrusted(client) {
            guard let hop else { return nil }
            client = hop
            isForwarded = true
        }
        return isForwarded ? client : nil
    }

    /// Whether the peer is a trusted proxy that says it forwards the request.
    func forwards(_ request: Request) -> Bool {
        guard let peer = request.peer.address, isTrusted(peer) else { return false }
        return request.headers.count(of: field.name) > 0
    }

    private func isTrusted(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }

    /// The addresses that the proxies name, the last one first, at most ``maximumHops``; nil in the place of an entry
    /// that names none, and of each line that cannot be read.
    private func hops(of request: Request) -> [IPAddress?] {
        var hops: [IPAddress?] = []
        for line in request.headers.values(of: field.name).reversed() {
            switch field {
            case .xForwardedFor:
                var rest = line[...].utf8
                var isFirst = false
                while !isFirst {
                    guard hops.count < Self.maximumHops else { return hops }
                    let comma = rest.lastIndex(of: UInt8(ascii: ","))
                    isFirst = comma == nil
                    hops.append(Self.address(Substring(rest[(comma.map(rest.index(after:)) ?? rest.startIndex)...])))
                    rest = rest[..<(comma ?? rest.startIndex)]
                }
            case .forwarded:
                guard let elements = ForwardedElements(line) else { return hops + [nil] }
                for word in elements.forParameters.reversed() {
                    guard hops.count < Self.maximumHops else { return hops }
                    hops.append(word.flatMap { Self.address($0[...]) })
                }
            }
        }
        return hops
    }

    /// The address of `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`.
    private static func address(_ word: Substring) -> IPAddress? {
        var text = Substring(word.utf8.trimmed)
        guard text.utf8.count <= longestAddress else { return nil }
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            text = text[text.index(after: text.startIndex)..<end]
        } else if let colon = text.firstIndex(of: ":"), colon == text.lastIndex(of: ":") {
            text = text[..<colon]
        }
        return IPAddress(String(text))
    }

    /// An address of IPv6 has at most 45 characters; with it brackets and a port.
    private static let longestAddress = 64

    /// Whether a request comes from one of these addresses, directly or through the proxies.
    ///
    /// A forwarded request counts as its client's if the proxy is trusted, and is refused if it is not: also from this
    /// machine, where proxies commonly run. An address of this machine counts only as the peer's own: a proxy repeats
    /// what others tell it.
    func admit(_ request: Request, from allowed: [IPAddressRange]) -> Bool {
        let isForwarded = Self.forwardingFields.contains { request.headers.count(of: $0) > 0 }
        guard let client = isForwarded ? forwardedClient(of: request) : client(of: request),
            !(isForwarded && client.isLoopback)
        else { return false }
        return allowed.contains { $0.contains(client) }
    }

    /// Fields that proxies write; any of them shows that the peer is a proxy.
    private static let forwardingFields = [
        "X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto",
    ].compactMap { HTTPField.Name($0) }
}

/// The elements of one line of `Forwarded` (RFC 7239 section 4).
///
/// The line is read from its start by the grammar, without exceptions: a client chooses the start, and a trusted proxy
/// appends to it. With a quote that has no end, the proxy's element would count as text of the client's.
struct ForwardedElements: Sendable, Hashable {
    /// The value of each element's `for`, in their order; nil for an element without one, or with several.
    let forParameters: [String?]

    /// Nil for a line that is not `1#forwarded-element`.
    init?(_ line: String) {
        var scanner = FieldScanner(line)
        var values: [String?] = []
        repeat {
            guard let element = Self.element(&scanner) else { return nil }
            values.append(element.count == 1 ? element.first : nil)
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.rest.isEmpty else { return nil }
        forParameters = values
    }

    /// The values of `for` in one element, which may be empty (RFC 9110 section 5.6.1.2). Nil for a malformed one.
    private static func element(_ scanner: inout FieldScanner) -> [String]? {
        var values: [String] = []
        repeat {
            scanner.skipSpace()
            let name = scanner.text(while: \.isToken)
            guard !name.isEmpty else { continue }
            guard scanner.take(UInt8(ascii: "=")),
                let value = scanner.rest.first == UInt8(ascii: "\"") ? scanner.quoted() : word(&scanner)
            else { return nil }
            if name.lowercased() == "for" { values.append(value) }
            scanner.skipSpace()
        } while scanner.take(UInt8(ascii: ";"))
        return values
    }

    /// A value without quotes. Proxies write addresses with colons and brackets so, against the grammar.
    private static func word(_ scanner: inout FieldScanner) -> String? {
        let word = scanner.text { $0.isToken || ":[]".utf8.contains($0) }
        return word.isEmpty ? nil : word
    }
}
