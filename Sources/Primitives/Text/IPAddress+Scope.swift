/// How far an IP address reaches (RFC 6890 and its registries).
package enum AddressScope: Sendable, Hashable {
    case global, loopback, privateNetwork
    /// Link-local, multicast, unspecified, broadcast, reserved: not an address of a server.
    case special
}

extension IPAddress {
    /// How far the address reaches; an address that embeds an IPv4 address reaches as far as that one.
    package var scope: AddressScope {
        isIPv4 ? Self.scope(ofIPv4: UInt32(truncatingIfNeeded: low)) : Self.scope(ofIPv6: high, low)
    }

    /// A range's first address, how many of its bits count, and what it is for. No two overlap.
    private static let ipv4Ranges: [(prefix: UInt32, bits: UInt32, scope: AddressScope)] = [
        (0x0000_0000, 8, .special),  // 0.0.0.0/8, this network
        (0x0A00_0000, 8, .privateNetwork),  // 10.0.0.0/8
        (0x6440_0000, 10, .privateNetwork),  // 100.64.0.0/10, shared address space
        (0x7F00_0000, 8, .loopback),  // 127.0.0.0/8
        (0xA9FE_0000, 16, .special),  // 169.254.0.0/16, link-local
        (0xAC10_0000, 12, .privateNetwork),  // 172.16.0.0/12
        (0xC000_0000, 24, .special),  // 192.0.0.0/24, protocol assignments
        (0xC000_0200, 24, .special),  // 192.0.2.0/24, documentation
        (0xC0A8_0000, 16, .privateNetwork),  // 192.168.0.0/16
        (0xC612_0000, 15, .special),  // 198.18.0.0/15, benchmarking
        (0xC633_6400, 24, .special),  // 198.51.100.0/24, documentation
        (0xCB00_7100, 24, .special),  // 203.0.113.0/24, documentation
        (0xE000_0000, 3, .special),  // 224.0.0.0/4 multicast, 240.0.0.0/4 reserved and broadcast
    ]

    private static func scope(ofIPv4 address: UInt32) -> AddressScope {
        for range in ipv4Ranges where (address ^ range.prefix) >> (32 - range.bits) == 0 { return range.scope }
        return .global
    }

    private static func scope(ofIPv6 high: UInt64, _ low: UInt64) -> AddressScope {
        // ::1, and of ::/64 what is unspecified (::), obsolete (IPv4-compatible, ::/96) or not assigned.
        if high == 0 { return low == 1 ? .loopback : .special }
        switch high {
        case 0x0064_FF9B_0000_0000 where low >> 32 == 0:  // 64:ff9b::/96, an IPv4 address behind NAT64
            return scope(ofIPv4: UInt32(truncatingIfNeeded: low))
        case 0x2002_0000_0000_0000...0x2002_FFFF_FFFF_FFFF:  // 2002::/16, an IPv4 address behind 6to4
            return scope(ofIPv4: UInt32(truncatingIfNeeded: high >> 16))
        case 0xFC00_0000_0000_0000...0xFDFF_FFFF_FFFF_FFFF: return .privateNetwork  // fc00::/7, unique local
        case 0x2001_0000_0000_0000...0x2001_01FF_FFFF_FFFF: return .special  // 2001::/23, Teredo and the like
        case 0x2001_0DB8_0000_0000...0x2001_0DB8_FFFF_FFFF: return .special  // 2001:db8::/32, documentation
        case 0x3FFF_0000_0000_0000...0x3FFF_0FFF_FFFF_FFFF: return .special  // 3fff::/20, documentation (RFC 9637)
        case 0x2000_0000_0000_0000...0x3FFF_FFFF_FFFF_FFFF: return .global  // 2000::/3, global unicast
        default: return .special  // fe80::/10 link-local, ff00::/8 multicast, what is not assigned
        }
    }
}
