import HTTPServer
import LatchkeyConfiguration
import Primitives
import Testing

@Suite("The connections of one address")
struct ConnectionShareTests {
    @Test(
        "The share is a quarter unless it is set, and then not of this machine's addresses and of trusted proxies",
        arguments: [
            ("{}", 4096, ["127.0.0.0/8", "::1"]),
            ("{limits: {max_connections: 10}}", 2, ["127.0.0.0/8", "::1"]),
            ("{limits: {max_connections: 1}}", 1, ["127.0.0.0/8", "::1"]),
            ("{limits: {max_connections_per_address: auto}}", 4096, ["127.0.0.0/8", "::1"]),
            ("{trusted_proxies: [10.0.0.2]}", 4096, ["127.0.0.0/8", "::1", "10.0.0.2"]),
            ("{limits: {max_connections_per_address: 0}}", nil, []),
            ("{limits: {max_connections_per_address: 9}}", 9, []),
            ("{trusted_proxies: [10.0.0.2], limits: {max_connections_per_address: 9}}", 9, []),
        ] as [(String, Int?, [String])])
    func share(_ http: String, _ expected: Int?, _ without: [String]) throws {
        let limits = try load(ConfigurationWarningTests.client + "http: \(http)\n").configuration.serverLimits
        #expect(limits.connectionsPerAddress == expected)
        #expect(limits.addressesWithoutShare == without.compactMap { IPAddressRange($0) })
    }

    @Test("A program may set the share itself")
    func program() {
        var configuration = Configuration()
        configuration.http.limits.connectionsPerAddress = 7
        #expect(configuration.serverLimits.connectionsPerAddress == 7)
        #expect(configuration.serverLimits.addressesWithoutShare.isEmpty)
    }
}
