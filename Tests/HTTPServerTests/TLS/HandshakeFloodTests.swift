import HTTPServer
import TestSupport
import Testing

/// Clients of many subnets that begin handshakes and do not continue them. Over sockets, at a small scale.
@Suite("Handshake floods", .serialized)
struct HandshakeFloodTests {
    /// The start of a ClientHello.
    private static let start: [UInt8] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]

    @Test("The oldest handshake gives way, and connections, probes and other clients are served")
    func manySubnets() async throws {
        var limits = ServerLimits()
        limits.handshakes = 8
        limits.patience = .zero
        var timeouts = ServerTimeouts()
        timeouts.handshake = .seconds(60)
        let held = HeldRequest()
        let plain = ListeningPoint(hosts: ["127.0.0.1"], port: 0)
        try await TLSHarness.run(
            besides: [plain], limits: limits, timeouts: timeouts, handler: held.handler
        ) { harness in
            async let said = harness.python(
                """
                c = connect()
                for path in ["/wait", "/after"]:
                    c.sendall(request(path))
                    print(answer(c))
                """)
            await held.entered.pass()
            let server = harness.live.server
            var flood: [RawClient] = []
            for number in 1...24 {
                let client = try await harness.live.connect(limit: .seconds(60), from: "127.0.\(number).2")
                try await client.send(HandshakeFloodTests.start)
                flood.append(client)
                // One after the other, so that the first is the oldest.
                try await until {
                    server.statistics.handshakes == min(number, 8)
                        && server.statistics.limited[.handshakeEvicted] == UInt64(max(0, number - 8))
                }
            }
            for client in flood.prefix(16) { #expect(await client.isCutOff()) }
            let curl = try await harness.curl(path: "/honest")
            #expect(curl.output == "GET /honest ")
            #expect(server.statistics.limited[.handshakeEvicted] == 17)
            let probes = LiveServer(server: server, port: harness.live.otherPorts[0])
            let probe = request("GET /healthz", "Connection: close")
            #expect(try await probes.answers(to: probe).map(\.status) == [200])
            held.released.open()
            #expect(try await said == "200 GET /wait \n200 GET /after")
            #expect(server.statistics.handshakes == 7)
            #expect(server.statistics.refused == 0)
        }
    }
}
