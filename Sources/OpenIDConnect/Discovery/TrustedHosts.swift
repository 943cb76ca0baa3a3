/// Which hosts a carrier's issuer and endpoints may be on.
public struct TrustedHosts: Sendable, Hashable {
    /// One host (`login.example.com`), or all below a name (`*.example.com`, but not `example.com` itself).
    public struct Pattern: Sendable, Hashable {
        let host: String
        let coversSubdomains: Bool

        /// The pattern, or nil if the text is not one: `*.` may stand only in front of a name of two or more labels.
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
            return IPv6Text.normalized(isBracketed ? text.dropFirst().dropLast() : text)
        }

        func covers(_ candidate: String) -> Bool {
            guard coversSubdomains else { return candidate == host }
            return candidate.utf8.count > host.utf8.count + 1 && candidate.hasSuffix("." + host)
        }
    }

    private let patterns: [Pattern]
    private var areAll = false

    public init(_ patterns: [Pattern]) {
        self.patterns = patterns
    }

    /// Every host there is: for metadata that its issuer alone answers for.
    static let all = {
        var hosts = TrustedHosts([])
        hosts.areAll = true
        return hosts
    }()

    /// Whether one of the patterns covers a host given as ``EndpointURL/host`` has it.
    public func contains(_ host: String) -> Bool {
        areAll || patterns.contains { $0.covers(host) }
    }

    /// Whether two trusted hosts are of one operator, as far as their names tell: both the same, both loopback, both
    /// below a name that a pattern covers, or, where none covers the second, both in the same domain.
    func areOfOneOperator(_ host: String, _ other: String) -> Bool {
        if host == other || HostName.isLoopback(host) && HostName.isLoopback(other) { return true }
        let realms = patterns.filter { $0.coversSubdomains && $0.covers(other) }
        guard realms.isEmpty else { return realms.contains { $0.covers(host) || $0.host == host } }
        return HostName.areOfOneDomain(host, other)
    }

    /// The carriers of ZenKey.
    public static let zenKeyCarriers = TrustedHosts(
        ["*.att.com", "*.verizon.com", "*.t-mobile.com", "*.myzenkey.com", "*.xcijv.com"].compactMap(Pattern.init))
}
