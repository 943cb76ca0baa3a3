import Primitives
import Testing

@Suite("Internet addresses")
struct IPAddressTests {
    @Test("are read as the system writes them", arguments: ["0.0.0.0", "192.0.2.1", "::", "::1", "2001:db8::ff:1"])
    func read(_ text: String) {
        #expect(IPAddress(text) != nil)
    }

    static let others = [
        "", "1", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4x", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\u{0}", "1.2.3.4:80",
        "[::1]", "fe80::1%eth0", ":::", "g::1", "localhost", String(repeating: "1", count: 100),
    ]

    @Test("are nothing else", arguments: others)
    func refused(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test("are equal to their IPv4-mapped form, and one subscriber's by the /64")
    func forms() throws {
        #expect(IPAddress("::ffff:192.0.2.1") == IPAddress("192.0.2.1"))
        #expect(IPAddress("192.0.2.1")?.isIPv4 == true)
        #expect(IPAddress("::192.0.2.1")?.isIPv4 == false)
        let address = try #require(IPAddress("2001:db8:1:2:3:4:5:6"))
        #expect(address.network == IPAddress("2001:db8:1:2::"))
        #expect(IPAddress("192.0.2.1")?.network == IPAddress("192.0.2.1"))
        for text in ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1"] {
            #expect(IPAddress(text)?.isLoopback == true)
        }
        for text in ["126.0.0.1", "128.0.0.1", "::2", "::"] { #expect(IPAddress(text)?.isLoopback == false) }
    }

    @Test(
        "of one holder share an IPv4 /24 or an IPv6 /48",
        arguments: [
            ("192.0.2.0", "192.0.2.255", "192.0.3.0"),
            ("2001:db8:1::", "2001:db8:1:ffff:ffff:ffff:ffff:ffff", "2001:db8:2::"),
        ])
    func subnets(_ first: String, _ last: String, _ beyond: String) throws {
        let subnet = try #require(IPAddress(first)).subnet
        #expect(IPAddress(last)?.subnet == subnet)
        #expect(IPAddress(beyond)?.subnet != subnet)
    }

    @Test(
        "A range is of many owners if it is larger than the largest private network",
        arguments: [
            ("10.0.0.0/8", false), ("10.0.0.0/7", true), ("0.0.0.0/0", true), ("::ffff:10.0.0.0/104", false),
            ("::ffff:10.0.0.0/103", true), ("::ffff:0.0.0.0/96", true), ("fc00::/7", false), ("fc00::/6", true),
            ("::/0", true), ("192.0.2.1", false),
        ])
    func ofManyOwners(_ text: String, _ isOfMany: Bool) throws {
        #expect(try #require(IPAddressRange(text)).isTooBroadToTrust == isOfMany)
    }

    static let ranges: [(range: String, inside: [String], outside: [String])] = [
        (
            "10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.1.1"],
            ["11.0.0.0", "9.255.255.255", "::10.0.0.1"]
        ),
        ("192.0.2.7", ["192.0.2.7"], ["192.0.2.6", "192.0.2.8"]),
        ("192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127"]),
        ("0.0.0.0/0", ["1.2.3.4"], ["::1", "2001:db8::1"]), ("::/0", ["1.2.3.4", "2001:db8::1"], []),
        ("2001:db8::/32", ["2001:db8:ffff::1"], ["2001:db9::"]),
        ("[2001:db8::]/32", ["2001:db8:ffff::1"], ["2001:db9::"]), ("[::1]", ["::1"], ["::2"]),
        ("2001:db8:0:1::/65", ["2001:db8:0:1::5"], ["2001:db8:0:1:8000::"]),
        ("fd00::/8", ["fd12::1"], ["fe00::1"]), ("192.0.2.7/32", ["192.0.2.7"], ["192.0.2.6", "192.0.2.8"]),
        ("2001:db8::7/128", ["2001:db8::7"], ["2001:db8::6", "2001:db8::8"]),
    ]

    @Test("belong to ranges by their prefix", arguments: ranges)
    func contained(_ row: (range: String, inside: [String], outside: [String])) throws {
        let range = try #require(IPAddressRange(row.range))
        #expect(range.description == row.range)
        for text in row.inside { #expect(range.contains(try #require(IPAddress(text))), "\(text)") }
        for text in row.outside { #expect(!range.contains(try #require(IPAddress(text))), "\(text)") }
    }

    @Test(
        "A range needs an address without bits beyond the prefix, and a valid prefix length",
        arguments: [
            "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.1/8", "10.0.0.0/8/8", "::/129",
            "2001:db8::1/32", "10.0.0.0/8 ", "10/8", "example.com", "[10.0.0.7]", "[::1", "::1]", "[[::1]]",
        ])
    func noRange(_ text: String) {
        #expect(IPAddressRange(text) == nil)
    }
}
