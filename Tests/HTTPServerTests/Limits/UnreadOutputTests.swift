import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// Clients that request much and read nothing. Over sockets, at a small scale.
@Suite("Unread output", .serialized)
struct UnreadOutputTests {
    private static let sendBuffer = 16 << 10

    private func limits(_ budget: Int) -> ServerLimits {
        var limits = ServerLimits()
        limits.unsentBytes = budget
        limits.sendBufferBytes = Self.sendBuffer
        return limits
    }

    /// Holds the content of responses.
    private final class Library: Sendable {
        let book: [UInt8]

        init(bytes: Int) { book = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) } }
    }

    /// `/own` is made for each response, `/shared` is not.
    private static func handler(_ library: Library) -> Handler {
        { request in
            guard request.path == "/shared" else {
                return Response(status: .ok, headers: [:], body: library.book + [])
            }
            return Response(status: .ok, headers: [:], body: library.book, ownedBy: library)
        }
    }

    /// A client that sends some requests and reads nothing.
    private func deaf(_ live: LiveServer, _ path: String, from source: String) async throws -> RawClient {
        let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 4096, from: source)
        for _ in 0..<4 { try await client.send(request("GET \(path)")) }
        return client
    }

    @Test(
        "Readers of one address that do not read lose their connections at the budget; another's slow reader does not")
    func budget() async throws {
        let budget = 2 << 20
        let library = Library(bytes: 256 << 10)
        try await LiveServer.run(limits: limits(budget), handler: Self.handler(library)) { live in
            let honest = try await live.connect(limit: .seconds(60), receiveBufferBytes: 4096, from: "127.0.1.3")
            try await honest.send(request("GET /own"))
            try await honest.waitForBytes(1)
            var deaf: [RawClient] = []
            for _ in 0..<40 {
                deaf.append(try await self.deaf(live, "/own", from: "127.0.0.2"))
                try await deaf[deaf.count - 1].waitForBytes(1)
                #expect(live.server.statistics.unsentBytes <= budget)
            }
            try await until { (live.server.statistics.limited[.unsentOutput] ?? 0) >= 30 }
            #expect(live.server.statistics.unsentBytes <= budget)
            // The one that was behind for longest.
            #expect(await deaf[0].isCutOff())
            #expect(try await honest.readResponse().body == library.book)
        }
    }

    @Test("Content that others hold is not counted for each reader, and not copied")
    func shared() async throws {
        let library = Library(bytes: 1 << 20)
        try await LiveServer.run(limits: limits(2 << 20), handler: Self.handler(library)) { live in
            var readers: [RawClient] = []
            for _ in 0..<20 {
                let reader = try await deaf(live, "/shared", from: "127.0.0.2")
                try await reader.waitForBytes(1)
                readers.append(reader)
            }
            try await until { live.server.statistics.unsentBytes == 20 * 2 * Self.sendBuffer }
            #expect(live.server.statistics.limited[.unsentOutput] == 0)
            for _ in 0..<4 { #expect(try await readers[0].readResponse().body == library.book) }
            try await until { live.server.statistics.unsentBytes < 20 * 2 * Self.sendBuffer }
        }
    }

    @Test("What the system keeps for a client is counted, until the client reads it")
    func inSystem() async throws {
        let library = Library(bytes: 12 << 10)
        var timeouts = ServerTimeouts()
        // Deadlines are checked four times within it.
        timeouts.header = .seconds(2)
        try await LiveServer.run(
            limits: limits(2 << 20), timeouts: timeouts, handler: Self.handler(library)
        ) { live in
            let client = try await live.connect(
                limit: .seconds(60), receiveBufferBytes: 2048, sending: request("GET /own"))
            try await until { live.server.statistics.unsentBytes > 0 }
            #expect(live.server.statistics.unsentBytes <= 2 * Self.sendBuffer)
            #expect(try await client.readResponse().body == library.book)
            try await until { live.server.statistics.unsentBytes == 0 }
            try await client.send(request("GET /own"))
            try await until { live.server.statistics.unsentBytes > 0 }
            await client.reset()
            try await until { live.server.statistics.unsentBytes == 0 }
        }
    }

    @Test(
        "A connection that ends is counted until its client has received everything",
        arguments: [request("GET /own"), request("GET /own", "Connection: close")])
    func closing(_ text: String) async throws {
        let library = Library(bytes: 12 << 10)
        try await LiveServer.run(limits: limits(2 << 20), handler: Self.handler(library)) { live in
            let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 2048)
            try await client.sendAndHalfClose(text)
            try await until { live.server.statistics.unsentBytes > 0 }
            #expect(live.server.connectionCount == 1)
            let responses = try RawClient.Response.parseAll(await client.readUntilClosed())
            #expect(responses.map(\.body) == [library.book])
            #expect(try await live.reachesConnectionCount(0))
            #expect(live.server.statistics.unsentBytes == 0)
        }
    }

    @Test("A connection that ends is reset when its client has not received everything in time")
    func closingDeadline() async throws {
        let library = Library(bytes: 64 << 10)
        var limits = limits(2 << 20)
        limits.sendBufferBytes = 128 << 10
        var timeouts = ServerTimeouts()
        timeouts.write = .milliseconds(500)
        try await LiveServer.run(limits: limits, timeouts: timeouts, handler: Self.handler(library)) { live in
            let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 2048)
            try await client.sendAndHalfClose(request("GET /shared"))
            await #expect(throws: RawClient.Failure.self) {
                for count in 1...64 {
                    try await client.waitForBytes(count << 10)
                    // The client receives some bytes all the time, or the system would reset.
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(try await live.reachesConnectionCount(0))
        }
    }

    @Test("Connections that end are cut at the budget")
    func closingBudget() async throws {
        let library = Library(bytes: 12 << 10)
        let budget = 512 << 10
        try await LiveServer.run(limits: limits(budget), handler: Self.handler(library)) { live in
            var deaf: [RawClient] = []
            for _ in 0..<60 {
                let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 2048)
                try await client.sendAndHalfClose(request("GET /own"))
                deaf.append(client)
            }
            try await until { (live.server.statistics.limited[.unsentOutput] ?? 0) >= 20 }
            #expect(live.server.statistics.unsentBytes <= budget)
            await #expect(throws: RawClient.Failure.self) { try await deaf[0].readUntilClosed() }
        }
    }

    @Test("A server that stops does not wait for slow readers, and they get everything")
    func closingAtShutdown() async throws {
        let library = Library(bytes: 12 << 10)
        try await LiveServer.run(limits: limits(2 << 20), handler: Self.handler(library)) { live in
            let clients = [
                try await live.connect(limit: .seconds(60), receiveBufferBytes: 2048),
                try await live.connect(limit: .seconds(60), receiveBufferBytes: 2048),
            ]
            try await clients[0].sendAndHalfClose(request("GET /own"))
            try await clients[1].send(request("GET /own"))
            for client in clients { try await client.waitForBytes(1) }
            #expect(await live.server.shutdown(within: .seconds(600)) == 0)
            for client in clients {
                let responses = try RawClient.Response.parseAll(await client.readUntilClosed())
                #expect(responses.map(\.body) == [library.book])
            }
        }
    }

    @Test(
        "Large contents arrive whole, own or shared, after one another",
        arguments: [1, 16 << 10, (16 << 10) + 1, 300_001])
    func whole(_ bytes: Int) async throws {
        let library = Library(bytes: bytes)
        try await LiveServer.run(limits: limits(64 << 20), handler: Self.handler(library)) { live in
            let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 4096)
            for _ in 0..<3 {
                try await client.send(request("GET /own") + request("GET /shared") + request("HEAD /shared"))
            }
            for _ in 0..<3 {
                #expect(try await client.readResponse().body == library.book)
                #expect(try await client.readResponse().body == library.book)
                #expect(try await client.readResponse(toHead: true)["content-length"] == "\(bytes)")
            }
        }
    }
}
