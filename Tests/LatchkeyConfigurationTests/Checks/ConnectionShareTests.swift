import HTTPServer
import LatchkeyConfiguration
import Testing

@Suite("The connections of one address")
struct ConnectionShareTests {
    @Test(
        "The share is a quarter unless it is set, and none with trusted proxies",
        arguments: [
            ("{}", 4096, false),
            ("{limits: {max_connections: 10}}", 2, false),
            ("{limits: {max_connections: 1}}", 1, false),
            ("{limits: {max_connections_per_address: auto}}", 4096, false),
            ("{trusted_proxies: [10.0.0.2]}", nil, true),
            ("{limits: {max_connections_per_address: 0}}", nil, true),
            ("{limits: {max_connections_per_address: 9}}", 9, true),
            ("{trusted_proxies: [10.0.0.2], limits: {max_connections_per_address: 9}}", 9, true),
        ] as [(String, Int?, Bool)])
    func share(_ http: String, _ expected: Int?, _ limitsLoopback: Bool) throws {
        let limits = try load(ConfigurationWarningTests.client + "http: \(http)\n").configuration.serverLimits
        #expect(limits.connectionsPerAddress == expected)
        #expect(limits.limitsLoopback == limitsLoopback)
    }

    @Test("A program may set the share itself")
    func program() {
        var configuration = Configuration()
        configuration.http.limits.connectionsPerAddress = 7
        #expect(configuration.serverLimits.connectionsPerAddress == 7)
        #expect(configuration.serverLimits.limitsLoopback)
    }
}
