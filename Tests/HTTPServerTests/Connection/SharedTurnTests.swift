import HTTPServer
import TestSupport
import Testing

@Suite("Requests that become ready together")
struct SharedTurnTests {
    /// More responses than may wait for the end of a turn, and fewer.
    @Test("All of them are answered, in the order of each connection", arguments: [2, 31, 32, 70])
    func answers(_ count: Int) async throws {
        let gate = ThreadGate()
        let handler: Handler = { request in
            if request.path == "/hold" { gate.pass() }
            return try await LiveServer.echo(request)
        }
        // One loop, whose thread is blocked until all requests have arrived: its next turn finds them all.
        try await LiveServer.run(loops: 1, handler: handler) { live in
            var clients: [RawClient] = []
            for _ in 0..<count { clients.append(try await live.connect(limit: .seconds(60))) }
            let holder = try await live.connect(limit: .seconds(60))
            #expect(try await live.reachesConnectionCount(count + 1))
            try await holder.send(request("GET /hold"))
            await gate.whenReached()
            for (number, client) in clients.enumerated() {
                try await client.send(
                    request("GET /first/\(number)") + request("GET /last/\(number)", "Connection: close"))
                try await client.waitUntilReceived()
            }
            gate.open()
            for (number, client) in clients.enumerated() {
                let answers = try RawClient.Response.parseAll(await client.readUntilClosed())
                #expect(answers.map(\.text) == ["GET /first/\(number) ", "GET /last/\(number) "])
            }
        }
    }

    @Test("A client that leaves before its response is sent disturbs no other")
    func departure() async throws {
        let gate = ThreadGate()
        let handler: Handler = { request in
            if request.path == "/hold" { gate.pass() }
            return try await LiveServer.echo(request)
        }
        try await LiveServer.run(loops: 1, handler: handler) { live in
            let (leaving, staying) = (try await live.connect(), try await live.connect())
            let holder = try await live.connect()
            #expect(try await live.reachesConnectionCount(3))
            try await holder.send(request("GET /hold"))
            await gate.whenReached()
            for client in [leaving, staying] {
                try await client.send(request("GET /"))
                try await client.waitUntilReceived()
            }
            await leaving.reset()
            gate.open()
            #expect(try await staying.readResponse().text == "GET / ")
            #expect(try await live.reachesConnectionCount(2))
        }
    }
}
