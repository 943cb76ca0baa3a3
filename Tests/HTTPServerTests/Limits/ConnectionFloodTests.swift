import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// Clients of one subnet that try to take all connections. Over sockets, at a small scale.
@Suite("Connection floods", .serialized)
struct ConnectionFloodTests {
    private static let probes: Set<String> = ["/healthz"]

    private func limits(_ connections: Int, perAddress: Int? = nil) -> ServerLimits {
        var limits = ServerLimits()
        limits.connections = connections
        limits.connectionsPerAddress = perAddress
        limits.patience = .seconds(60)
        return limits
    }

    private func flood(_ live: LiveServer, _ count: Int, with text: String) async throws -> [RawClient] {
        var clients: [RawClient] = []
        for number in 1...count {
            let client = try await live.connect(limit: .seconds(60), from: "127.0.0.\(2 + number)")
            if !text.isEmpty {
                try await client.send(text)
                if text.hasSuffix("\r\n\r\n") { _ = try await client.readResponse() }
            }
            clients.append(client)
            #expect(try await live.reachesConnectionCount(number))
        }
        return clients
    }

    @Test(
        "Clients of another address are served while the addresses of one subnet hold all connections",
        arguments: [
            "", "GE", request("GET /healthz"), request("POST /", "Content-Length: 5", then: "he"),
        ])
    func full(_ text: String) async throws {
        var timeouts = ServerTimeouts()
        timeouts.header = .seconds(60)
        try await LiveServer.run(limits: limits(64), timeouts: timeouts) { live in
            let flood = try await flood(live, 64, with: text)
            var honest: [RawClient] = []
            for _ in 0..<8 {
                let client = try await live.connect(from: "127.0.1.3")
                try await client.send(request("GET /"))
                #expect(try await client.readResponse().status == 200)
                honest.append(client)
            }
            #expect(live.server.statistics.limited[.evicted] == 8)
            #expect(live.server.statistics.refused == 0)
            #expect(try await live.reachesConnectionCount(64))
            // The idlest ones, which came first.
            for client in flood.prefix(8) { #expect(await client.isCutOff()) }
            // More connections of the subnet take no slot of the others.
            for _ in 0..<8 {
                let client = try await live.connect(from: "127.0.0.2")
                #expect(try await client.readResponse().status == 503)
            }
            for client in honest {
                try await client.send(request("GET /"))
                #expect(try await client.readResponse().status == 200)
            }
        }
    }

    @Test("A connection that gave its slot away completes the request that arrived meanwhile")
    func busy() async throws {
        let held = HeldRequest()
        try await LiveServer.run(limits: limits(2), handler: held.handler) { live in
            let busy = try await live.connect(from: "127.0.0.2")
            try await busy.send(request("GET /wait"))
            await held.entered.pass()
            let idle = try await live.connect(from: "127.0.0.2")
            #expect(try await live.reachesConnectionCount(2))
            let honest = try await live.connect(from: "127.0.1.3")
            try await honest.send(request("GET /"))
            #expect(try await honest.readResponse().status == 200)
            #expect(await idle.isCutOff())
            held.released.open()
            #expect(try await busy.readResponse().status == 200)
        }
    }

    @Test(
        "A request that was not read yet is answered before its connection gives its slot away",
        arguments: [request("GET /"), request("GET /") + request("GET /next"), request("POST /", "Content-Length: 0")])
    func unread(_ text: String) async throws {
        let (first, second) = (ThreadGate(), ThreadGate())
        let handler: Handler = { request in
            if request.path == "/first" { first.pass() }
            if request.path == "/second" { second.pass() }
            return try await LiveServer.echo(request)
        }
        // One loop, so that a handler that blocks its thread decides what the loop sees in one turn.
        try await LiveServer.run(loops: 1, limits: limits(3), handler: handler) { live in
            var clients: [RawClient] = []
            for number in 1...3 {
                clients.append(try await live.connect(limit: .seconds(60), from: "127.0.0.\(number)"))
                #expect(try await live.reachesConnectionCount(number))
            }
            try await clients[1].send(request("GET /first"))
            await first.whenReached()
            // The next turn accepts the newcomer, which evicts the first client, and then blocks again.
            let newcomer = try await live.connect(limit: .seconds(60), from: "127.0.1.3")
            try await clients[2].send(request("GET /second"))
            // Both must have arrived, so that one turn sees them.
            try await clients[2].waitUntilReceived()
            first.open()
            await second.whenReached()
            try await clients[0].send(text)
            try await clients[0].waitUntilReceived()
            second.open()
            let response = try await clients[0].readResponse()
            #expect(response.status == 200)
            #expect(response["connection"] == "close")
            #expect(try await clients[0].readUntilClosed() == [])
            try await newcomer.send(request("GET /"))
            #expect(try await newcomer.readResponse().status == 200)
            #expect(live.server.statistics.limited[.evicted] == 1)
        }
    }

    @Test("While all connections work, probes are answered, and all else is refused")
    func probes() async throws {
        let held = HeldRequest()
        var timeouts = ServerTimeouts()
        timeouts.header = .seconds(2)
        try await LiveServer.run(
            limits: limits(1), timeouts: timeouts, probePaths: Self.probes, handler: held.handler
        ) { live in
            let busy = try await live.connect()
            try await busy.send(request("GET /wait"))
            await held.entered.pass()
            let table = [
                (request("GET /healthz"), 200), (request("HEAD /healthz"), 200), (request("GET /"), 503),
                (request("GET /healthz/"), 503), ("NONSENSE\r\n\r\n", 503), ("", 503), ("GET /heal", 503),
            ]
            for (text, status) in table {
                let client = try await live.connect(sending: text)
                let answer = try await client.readResponse(toHead: text.hasPrefix("HEAD"))
                #expect(answer.status == status, "\(text)")
                #expect(answer["connection"] == "close")
                #expect(try await client.readUntilClosed() == [])
                await client.close()
            }
            #expect(live.server.statistics.limited[.full] == 5)
            #expect(live.server.statistics.accepted == 1)
            held.released.open()
            #expect(try await busy.readResponse().status == 200)
        }
    }

    @Test("An address that has its share is still probed")
    func share() async throws {
        try await LiveServer.run(limits: limits(10, perAddress: 1), probePaths: Self.probes) { live in
            let first = try await live.connect()
            try await first.send(request("GET /"))
            #expect(try await first.readResponse().status == 200)
            for (path, status) in [("/healthz", 200), ("/", 429)] {
                let client = try await live.connect()
                try await client.send(request("GET \(path)"))
                #expect(try await client.readResponse().status == status)
            }
            #expect(live.server.statistics.limited[.addressShare] == 1)
            let other = try await live.connect(from: "127.0.1.3")
            try await other.send(request("GET /"))
            #expect(try await other.readResponse().status == 200)
        }
    }

    @Test("Probes of another address get a slot while one address takes those kept for probes")
    func probeFlood() async throws {
        let held = HeldRequest()
        try await LiveServer.run(limits: limits(1), probePaths: Self.probes, handler: held.handler) { live in
            let busy = try await live.connect()
            try await busy.send(request("GET /wait"))
            await held.entered.pass()
            // A silent connection keeps its slot for two seconds: the flood is repeated.
            for _ in 0..<4 {
                var flood: [RawClient] = []
                for _ in 0..<ConnectionLimiter.reservedSlots {
                    flood.append(try await live.connect(from: "127.0.0.2"))
                }
                let probe = try await live.connect(from: "127.0.1.3")
                try await probe.send(request("GET /healthz"))
                #expect(try await probe.readResponse().status == 200)
            }
            held.released.open()
        }
    }
}
