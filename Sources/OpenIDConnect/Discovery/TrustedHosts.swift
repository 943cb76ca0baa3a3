import Primitives

/// The hosts that a carrier's issuer and endpoints may be on.
public struct TrustedHosts: Sendable, Hashable {
    /// One host (`login.example.com`), or all subdomains of a name (`*.example.com`, without `example.com` itself).
    public struct Pattern: Sendable, Hashable {
        let host: String
        let coversSubdomains: Bool

        /// A pattern, or nil if the text is not one. `*.` is allowed only before a name of two or more labels.
        public init?(_ text: String) {
            coversSubdomains = text.hasPrefix("*.")
            guard let host = Self.normalized(coversSubdomains ? text.dropFirst(2) : text[...]) else { return nil }
            guard !coversSubdomains || HostName.isNameOfSeveralLabels(host) else { return nil }
            self.host = host
        }

        /// A name or an IPv4 address, or an IPv6 address with or without the brackets of a URL.
        private static func normalized(_ text: Substring) -> String? {
            guard text.utf8.contains(UInt8(ascii: ":")) else { return HostName.normalized(text) }
            let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
            return HostName.normalizedIPv6(isBracketed ? text.dropFirst().dropLast() : text)
        }

        func covers(_ candidate: String) -> Bool {
            guard coversSubdomains else { return candidate == host }
            return candidate.utf8.count > host.utf8.count + 1 && candidate.hasSuffix("." + host)
        }
    }

    /// Nil for every host.
    private let patterns: [Pattern]?

    private init() { patterns = nil }

    /// The hosts that at least one pattern covers.
    public init(_ patterns: [Pattern]) { self.patterns = patterns }

    /// Every host: for metadata that comes from its issuer.
    static let all = TrustedHosts()

    /// Whether a pattern covers a host, spelled as `EndpointURL.host`.
    public func contains(_ host: String) -> Bool {
        patterns?.contains { $0.covers(host) } ?? true
    }

    /// Whether two trusted hosts belong to one operator by their names: they are equal, both loopback, both covered by
    /// the same wildcard pattern, or, if no wildcard covers the second, in the same domain.
    func areOfOneOperator(_ host: String, _ other: String) -> Bool {
        if host == other || HostName.isLoopback(host) && HostName.isLoopback(other) { return true }
        let realms = (patterns ?? []).filter { $0.coversSubdomains && $0.covers(other) }
        guard realms.isEmpty else { return realms.contains { $0.covers(host) || $0.host == host } }
        return HostName.areOfOneDomain(host, other)
    }

    public static let zenKeyCarriers = TrustedHosts(
        ["*.att.com", "*.verizon.com", "*.t-mobile.com", "*.myzenkey.com", "*.xcijv.com"].compactMap(Pattern.init))
}
