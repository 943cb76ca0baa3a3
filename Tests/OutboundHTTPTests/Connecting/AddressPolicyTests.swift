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
        // The health check of this machine's own server.
        var ofAdministrator = everything
        ofAdministrator.allowsAll = true
        #expect(ofAdministrator.permits(try address(text)))
    }

    @Test(
        "Plain http goes to loopback, and to private addresses of the hosts that are listed",
        arguments: [
            ("127.0.0.1", "other", true), ("10.0.0.7", "keycloak", true), ("10.0.0.7", "other", false),
            ("8.8.8.8", "keycloak", false), ("fd00::1", "keycloak", true), ("169.254.169.254", "keycloak", false),
        ])
    func plainHTTP(_ text: String, _ host: String, isPermitted: Bool) throws {
        var configuration = OutboundHTTPConfiguration()
        configuration.urlPolicy.httpHosts = ["keycloak"]
        #expect(configuration.permitsPlainHTTP(to: host, at: try address(text)) == isPermitted)
        configuration.urlPolicy = .allowHTTP
        #expect(configuration.permitsPlainHTTP(to: host, at: try address(text)))
    }

    @Test(
        "Plain http to a host that the policy of the client does not allow is not sent",
        arguments: [
            (EndpointURL.Policy.httpsOnly, "127.0.0.1", ["127.0.0.1"], true), (.httpsOnly, "127.0.0.1", [], false),
            (.allowLoopbackHTTP, "127.0.0.1", [], true), (.allowLoopbackHTTP, "service.example", [], false),
        ])
    func plainHTTPHost(
        _ policy: EndpointURL.Policy, _ host: String, listed hosts: [String], isAllowed: Bool
    ) async throws {
        var configuration = OutboundHTTPConfiguration()
        configuration.addressPolicy.allowLoopback = true
        configuration.urlPolicy = policy
        configuration.urlPolicy.httpHosts = hosts
        // No server listens there.
        let url = try #require(EndpointURL("http://\(host):1/", policy: .allowHTTP))
        let client = try OutboundHTTPClient(configuration)
        let error = await #expect(throws: OutboundError.self) {
            try await client.send(OutboundRequest(method: .get, url: url, timeout: .seconds(9), maximumBodyBytes: 9))
        }
        #expect((error?.code == .addressRefused) == !isAllowed)
        await client.shutdown()
    }

    /// A block of the registries, and how far it reaches, with the addresses before and after it.
    struct Block: Sendable {
        let first, last: String
        let scope: AddressScope
        let before: (address: String, scope: AddressScope)?
        let after: (address: String, scope: AddressScope)?

        init(
            _ first: String, _ last: String, _ scope: AddressScope, before: String? = nil,
            _ scopeBefore: AddressScope = .global, after: String? = nil, _ scopeAfter: AddressScope = .global
        ) {
            (self.first, self.last, self.scope) = (first, last, scope)
            self.before = before.map { ($0, scopeBefore) }
            self.after = after.map { ($0, scopeAfter) }
        }
    }

    @Test(
        "A block has its first and its last address, and none beside them",
        arguments: [
            Block("0.0.0.0", "0.255.255.255", .special, after: "1.0.0.0"),
            Block("10.0.0.0", "10.255.255.255", .privateNetwork, before: "9.255.255.255", after: "11.0.0.0"),
            Block("100.64.0.0", "100.127.255.255", .privateNetwork, before: "100.63.255.255", after: "100.128.0.0"),
            Block("127.0.0.0", "127.255.255.255", .loopback, before: "126.255.255.255", after: "128.0.0.0"),
            Block("169.254.0.0", "169.254.255.255", .special, before: "169.253.255.255", after: "169.255.0.0"),
            Block("172.16.0.0", "172.31.255.255", .privateNetwork, before: "172.15.255.255", after: "172.32.0.0"),
            Block("192.0.0.0", "192.0.0.255", .special, before: "191.255.255.255", after: "192.0.1.0"),
            Block("192.0.2.0", "192.0.2.255", .special, before: "192.0.1.255", after: "192.0.3.0"),
            Block("192.168.0.0", "192.168.255.255", .privateNetwork, before: "192.167.255.255", after: "192.169.0.0"),
            Block("198.18.0.0", "198.19.255.255", .special, before: "198.17.255.255", after: "198.20.0.0"),
            Block("198.51.100.0", "198.51.100.255", .special, before: "198.51.99.255", after: "198.51.101.0"),
            Block("203.0.113.0", "203.0.113.255", .special, before: "203.0.112.255", after: "203.0.114.0"),
            Block("224.0.0.0", "255.255.255.255", .special, before: "223.255.255.255"),
            Block("::", "::", .special, after: "::1", .loopback),
            Block("::1", "::1", .loopback, before: "::", .special, after: "::2", .special),
            Block("::2", "::fffe:ffff:ffff", .special, before: "::1", .loopback, after: "::ffff:0:0", .special),
            // IPv4-mapped, all of the ranges above.
            Block(
                "::ffff:1.0.0.0", "::ffff:9.255.255.255", .global, before: "::ffff:0.255.255.255", .special,
                after: "::ffff:10.0.0.0", .privateNetwork),
            Block(
                "::1:0:0:0", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "::ffff:255.255.255.255", .special, after: "64:ff9b::", .special),
            // Behind NAT64, an IPv4 address.
            Block(
                "64:ff9b::1.0.0.0", "64:ff9b::9.255.255.255", .global, before: "64:ff9b::0.255.255.255", .special,
                after: "64:ff9b::10.0.0.0", .privateNetwork),
            Block(
                "64:ff9b::1:0:0", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "64:ff9b::255.255.255.255", .special, after: "2000::"),
            Block(
                "2000::", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .global,
                before: "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .special, after: "2001::", .special),
            Block(
                "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", after: "2001:200::"),
            Block(
                "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", after: "2001:db9::"),
            // Behind 6to4, an IPv4 address.
            Block(
                "2002::", "2002:ff:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", after: "2002:100::"),
            Block(
                "2002:e000::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "2002:dfff:ffff:ffff:ffff:ffff:ffff:ffff", after: "2003::"),
            Block(
                "2003::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .global,
                before: "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .special, after: "3fff::", .special),
            Block(
                "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", after: "3fff:1000::"),
            Block(
                "3fff:1000::", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .global,
                before: "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", .special, after: "4000::", .special),
            Block(
                "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", after: "fc00::", .privateNetwork),
            Block(
                "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .privateNetwork,
                before: "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .special, after: "fe00::", .special),
            Block(
                "fe00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .special,
                before: "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .privateNetwork),
        ])
    func ends(_ block: Block) throws {
        #expect(try address(block.first).scope == block.scope)
        #expect(try address(block.last).scope == block.scope)
        for neighbour in [block.before, block.after].compactMap(\.self) {
            #expect(try address(neighbour.address).scope == neighbour.scope)
        }
    }

    private func address(_ text: String) throws -> IPAddress {
        var octets = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &octets) == 1 { return try #require(IPAddress(octets: octets.prefix(4))) }
        try #require(inet_pton(AF_INET6, text, &octets) == 1)
        return try #require(IPAddress(octets: octets))
    }
}
