import Foundation
import OutboundHTTP
import Primitives
import Testing

struct AddressPolicyTests {
    @Test(
        "Public addresses are allowed by every policy",
        arguments: [
            "8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
            "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111",
            "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        ])
    func baseURL(_ text: String) throws {
        #expect(try address(text).scope == .global)
        #expect(AddressPolicy.publicOnly.permits(try address(text)))
    }

    @Test(
        "Loopback, however spelled, must be allowed",
        arguments: [
            "127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::1",
        ])
    func loopback(_ text: String) throws {
        let address = try address(text)
        #expect(!AddressPolicy.publicOnly.permits(address))
        #expect(!AddressPolicy(allowPrivateNetworks: true).permits(address))
        #expect(AddressPolicy(allowLoopback: true).permits(address))
    }

    @Test(
        "Private networks, however spelled, must be allowed",
        arguments: [
            "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "172.16.0.0", "172.31.255.255",
            "192.168.0.0", "192.168.255.255", "fc00::", "fdff:ffff::1", "::ffff:10.1.2.3", "::ffff:192.168.1.1",
            "64:ff9b::10.0.0.1", "2002:a00:1::1",
        ])
    func privateNetwork(_ text: String) throws {
        let address = try address(text)
        #expect(!AddressPolicy.publicOnly.permits(address))
        #expect(!AddressPolicy(allowLoopback: true).permits(address))
        #expect(AddressPolicy(allowPrivateNetworks: true).permits(address))
    }

    @Test(
        "Special addresses are refused by every policy",
        arguments: [
            "0.0.0.0", "0.1.2.3", "169.254.0.0", "169.254.169.254", "169.254.255.255", "192.0.0.8", "192.0.2.1",
            "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
            "255.255.255.255", "::", "fe80::1", "febf::1", "fec0::1", "ff02::1", "2001:db8::1", "2001::1",
            "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::ffff:224.0.0.1", "::127.0.0.1", "64:ff9b::169.254.169.254",
            "64:ff9b:1::a00:1", "100::1", "2002:a9fe:a9fe::1",
        ])
    func special(_ text: String) throws {
        let everything = AddressPolicy(allowLoopback: true, allowPrivateNetworks: true)
        #expect(!everything.permits(try address(text)))
    }

    private func address(_ text: String) throws -> IPAddress {
        var octets = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &octets) == 1 { return try #require(IPAddress(octets: octets.prefix(4))) }
        try #require(inet_pton(AF_INET6, text, &octets) == 1)
        return try #require(IPAddress(octets: octets))
    }
}
