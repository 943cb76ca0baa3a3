#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An IP address as a number. An IPv4 address is stored as its IPv4-mapped address (RFC 4291 section 2.5.5.2), so that
/// both forms are equal.
public struct IPAddress: Sendable, Hashable {
    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    private static let mapped: UInt64 = 0xFFFF << 32

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads dotted decimal, or IPv6 without brackets and zone.
    public init?(_ text: String) {
        guard (2...45).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        if text.withCString({ inet_pton(AF_INET, $0, &four) }) == 1 {
            self.init(high: 0, low: Self.mapped | UInt64(UInt32(bigEndian: four.s_addr)))
            return
        }
        var six = in6_addr()
        guard text.withCString({ inet_pton(AF_INET6, $0, &six) }) == 1 else { return nil }
        self = withUnsafeBytes(of: six) {
            IPAddress(high: Self.number($0.prefix(8)), low: Self.number($0.dropFirst(8)))
        }
    }

    /// The text of an IPv6 address without the brackets that it has in URLs; any other text as it is.
    package static func withoutBrackets(_ text: some StringProtocol) -> String {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]") && text.contains(":")
        return String(isBracketed ? text.dropFirst().dropLast() : text[...])
    }

    /// The address of four or sixteen octets in network order; nil for another number of octets.
    package init?(octets: some Collection<UInt8>) {
        switch octets.count {
        case 4: self.init(high: 0, low: Self.mapped | Self.number(octets))
        case 16: self.init(high: Self.number(octets.prefix(8)), low: Self.number(octets.dropFirst(8)))
        default: return nil
        }
    }

    private static func number(_ octets: some Collection<UInt8>) -> UInt64 { octets.reduce(0) { $0 << 8 | UInt64($1) } }

    /// Whether it is an IPv4 address, in either form.
    public var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// The addresses that count as one user's: an IPv4 address, or the /64 that an IPv6 user usually has.
    public var network: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }

    /// The addresses that one holder often has: an IPv4 /24, or an IPv6 /48 (RFC 6177).
    public var subnet: IPAddress { prefix(isIPv4 ? 96 + 24 : 48) }

    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { isIPv4 ? low & 0xFF00_0000 == 0x7F00_0000 : high == 0 && low == 1 }

    /// `::`, in any spelling.
    package var isIPv6Wildcard: Bool { high == 0 && low == 0 }

    /// The address with all bits after the prefix cleared.
    fileprivate func prefix(_ length: Int) -> IPAddress {
        IPAddress(high: high & Self.mask(length), low: low & Self.mask(length - 64))
    }

    private static func mask(_ length: Int) -> UInt64 {
        length <= 0 ? 0 : length >= 64 ? .max : .max << UInt64(64 - length)
    }
}

/// Addresses with a common prefix: `10.0.0.0/8`, `2001:db8::/32`, or a single address.
public struct IPAddressRange: Sendable, Hashable, CustomStringConvertible {
    private let first: IPAddress
    private let length: Int
    /// As it was written.
    public let description: String

    /// Nil unless the text is a range; an IPv6 address may be in brackets. An address with bits beyond the prefix is
    /// refused as a likely typo.
    public init?(_ text: String) {
        let parts = text.split(ascii: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = parts.first.flatMap({ IPAddress(IPAddress.withoutBrackets($0)) })
        else { return nil }
        let isShort = address.isIPv4 && !text.utf8.contains(UInt8(ascii: ":"))
        var length = 128
        if parts.count == 2 {
            guard let number = Int(parts[1]), (0...(isShort ? 32 : 128)).contains(number), parts[1].first != "+" else {
                return nil
            }
            length = isShort ? number + 96 : number
        }
        guard address.prefix(length) == address else { return nil }
        first = address
        self.length = length
        description = text
    }

    /// The addresses of this machine: 127.0.0.0/8 and ::1.
    public static let loopback = ["127.0.0.0/8", "::1"].compactMap { IPAddressRange($0) }

    /// Whether the address has the prefix.
    public func contains(_ address: IPAddress) -> Bool { address.prefix(length) == first }

    /// Whether the range is larger than one operator can own: larger than 10.0.0.0/8 or fc00::/7 (RFC 1918, RFC 4193).
    public var isTooBroadToTrust: Bool { length < (first.isIPv4 && length >= 96 ? 96 + 8 : 7) }
}
