#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// An Internet address as a number. An IPv4 address is kept as the IPv6 one that it is mapped to (RFC 4291 section
/// 2.5.5.2), so that it is the same address in either form.
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

    /// The address a text names: dotted decimal, or IPv6 without brackets and zone.
    public init?(_ text: String) {
        guard (2...45).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        if text.withCString({ inet_pton(AF_INET, $0, &four) }) == 1 {
            self.init(high: 0, low: Self.mapped | UInt64(UInt32(bigEndian: four.s_addr)))
            return
        }
        var six = in6_addr()
        guard text.withCString({ inet_pton(AF_INET6, $0, &six) }) == 1 else { return nil }
        let (high, low) = withUnsafeBytes(of: six) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        self.init(high: high, low: low)
    }

    public var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// What counts as one user's: an IPv4 address, or the /64 that one IPv6 user commonly has.
    public var network: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }

    /// 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { isIPv4 ? low & 0xFF00_0000 == 0x7F00_0000 : high == 0 && low == 1 }

    /// With all bits but the first so many cleared.
    fileprivate func prefix(_ length: Int) -> IPAddress {
        IPAddress(high: high & Self.mask(length), low: low & Self.mask(length - 64))
    }

    private static func mask(_ length: Int) -> UInt64 {
        length <= 0 ? 0 : length >= 64 ? .max : .max << UInt64(64 - length)
    }
}

/// The addresses that begin alike: `10.0.0.0/8`, `2001:db8::/32`, or one address alone.
public struct IPAddressRange: Sendable, Hashable, CustomStringConvertible {
    private let first: IPAddress
    private let length: Int
    /// As it was written.
    public let description: String

    /// Nil for what is no range, also for one whose address has bits beyond its length: that is a slip of the pen.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = parts.first.flatMap({ IPAddress(String($0)) }) else { return nil }
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

    public func contains(_ address: IPAddress) -> Bool { address.prefix(length) == first }

    /// Whether it reaches beyond what one operator can have: more than 10.0.0.0/8, or than fc00::/7 (RFC 1918, RFC 4193).
    public var isOfManyOwners: Bool { length < (first.isIPv4 && length >= 96 ? 96 + 8 : 7) }
}
