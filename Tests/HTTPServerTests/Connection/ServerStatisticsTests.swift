import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// The server's own counts.
@Suite struct ServerStatisticsTests {
    @Test("Open, refused and accepted connections and refused requests are counted")
    func counts() async throws {
        var limits = ServerLimits()
        limits.connections = 2
        limits.patience = .seconds(60)
        try await LiveServer.run(limits: limits) { live in
            #expect(live.server.statistics.refusedRequests[431] == 0)
            let (first, second) = (try await live.connect(), try await live.connect())
            for client in [first, second] {
                try await client.send(wire("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
                _ = try await client.readResponse()
            }
            let third = try await live.connect()
            #expect(try await third.readResponse().status == 503)
            try await second.send(wire("NONSENSE\r\n\r\n"))
            #expect(try await second.readResponse().status == 400)

            let statistics = live.server.statistics
            #expect(statistics.accepted == 2)
            #expect(statistics.refused == 1)
            #expect(
                statistics.limited
                    == Dictionary(uniqueKeysWithValues: ConnectionLimit.allCases.map { ($0, $0 == .full ? 1 : 0) }))
            #expect(statistics.connections >= 1)
            #expect(statistics.refusedRequests[400] == 1)
            #expect(statistics.refusedRequests[503] == 1)
            #expect(statistics.handshakes == 0)
            for client in [first, second, third] { await client.close() }
        }
    }

    @Test("Each event loop reports its delay")
    func delays() async throws {
        try await LiveServer.run { live in
            let delays = await live.server.loopDelays()
            #expect(delays.count == 2)
            #expect(delays.allSatisfy { $0 > .zero && $0 < .seconds(10) })
        }
    }

    @Test("A listener may have its own handler")
    func ownHandler() async throws {
        var configuration = ServerConfiguration(port: 0)
        configuration.listeners.append(
            ListeningPoint(hosts: ["127.0.0.1"], port: 0) { _ in
                Response(status: .accepted, contentType: "text/plain", text: "own")
            })
        let server = Server(
            configuration: configuration, logger: LiveServer.silentLogger, handler: immediate(LiveServer.echo))
        let addresses = try server.start()
        for (address, status) in zip(addresses, [200, 202]) {
            let client = try await RawClient(port: address.port, limit: .seconds(30))
            try await client.send(wire("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
            #expect(try await client.readResponse().status == status)
            await client.close()
        }
        await server.shutdown(within: .zero)
    }

    @Test("Routes are numbered by their patterns, in the order of addition")
    func places() throws {
        var router = Router()
        let handler: Handler = { _ in Response(status: .ok) }
        router.get("/a/{name}", handler)
        router.get("/a/b", handler)
        router.post("/a/{name}", handler)
        router.get("/c", handler)
        router.post("/c", handler)
        #expect(router.patterns == ["/a/{name}", "/a/b", "/c"])
        for (path, number) in [("/a/x", 0), ("/a/b", 1), ("/c", 2), ("/d", nil), ("/a", nil), ("/a/x/y", nil)] {
            #expect(router.match(try Request(.put, path)).number == number, "\(path)")
        }
    }
}
