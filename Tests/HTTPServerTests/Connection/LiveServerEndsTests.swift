import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

extension LiveServerTests {
    /// The ends of connections and of the server.
    @Suite("Ends", .serialized)
    struct Ends {
        @Test(
            "A client that half-closes gets the response, and the connection closes",
            arguments: [
                request("GET /"), request("GET /") + request("GET /b"),
                request("POST /", "Content-Length: 5", then: "hello"),
                request("POST /", "Transfer-Encoding: chunked", then: "5\r\nhello\r\n0\r\n\r\n"),
            ])
        func halfClose(_ text: String) async throws {
            try await LiveServer.run { live in
                // Repeated, because the end may reach the server with the bytes or after them.
                for number in 0..<20 {
                    let client = try await live.connect()
                    // Every second time on a connection that has served a request.
                    if number % 2 == 1 {
                        try await client.send(request("GET /known"))
                        _ = try await client.readResponse()
                    }
                    try await client.sendAndHalfClose(text)
                    let answers = try RawClient.Response.parseAll(await client.readUntilClosed())
                    #expect(answers.allSatisfy { $0.status == 200 } && !answers.isEmpty)
                }
                #expect(try await live.reachesConnectionCount(0))
            }
        }

        @Test("A client that half-closes while its request is handled gets the response")
        func halfCloseWhileHandled() async throws {
            let held = HeldRequest()
            try await LiveServer.run(handler: held.handler) { live in
                let client = try await live.connect()
                try await client.send(request("GET /wait"))
                await held.entered.pass()
                await client.halfClose()
                held.released.open()
                #expect(try RawClient.Response.parseAll(await client.readUntilClosed()).map(\.text) == ["GET /wait "])
            }
        }

        @Test(
            "An incomplete request is refused",
            arguments: [
                "GET / HT", request("POST /", "Content-Length: 5", then: "he"),
                request("POST /", "Transfer-Encoding: chunked", then: "5\r\nhe"),
            ])
        func brokenOff(_ text: String) async throws {
            try await LiveServer.run { live in
                let client = try await live.connect()
                try await client.sendAndHalfClose(text)
                #expect(try RawClient.Response.parseAll(await client.readUntilClosed()).map(\.status) == [400])
            }
        }

        @Test(
            "A client that resets leaks nothing",
            arguments: [
                "", "GE", request("POST /", "Content-Length: 5", then: "he"),
                request("POST /", "Transfer-Encoding: chunked", then: "5\r\nhe"), request("GET /"),
                request("GET /", "Connection: close"), request("GET /wait"), request("GET /large"),
                "GET / HTTP/1.1\r\n\r\n",
            ])
        func reset(_ text: String) async throws {
            let began = Gate()
            let held = HeldRequest(then: { request in
                began.open()
                let size = request.path == "/large" ? 6 << 20 : 5
                return Response(status: .ok, headers: [:], body: [UInt8](repeating: 65, count: size))
            })
            try await LiveServer.run(handler: held.handler) { live in
                let client = try await live.connect()
                try await client.send(text)
                try await until { live.server.statistics.accepted == 1 }
                if text.contains("/wait") { await held.entered.pass() }
                if text.contains("/large") { await began.pass() }
                await client.reset()
                #expect(try await live.reachesConnectionCount(0))
                held.released.open()
                #expect(try await live.answers(to: request("GET /", "Connection: close")).map(\.text) == ["AAAAA"])
            }
        }

        @Test("A server listens on IPv6, on a port that the system chooses")
        func ipv6() async throws {
            try await LiveServer.run(
                hosts: ["::1"],
                handler: { request in
                    Response(status: .ok, contentType: "text/plain", text: request.peer.host)
                }
            ) { live in
                let client = try await RawClient(host: "::1", port: live.port)
                try await client.send(request("GET /"))
                #expect(try await client.readResponse().text == "::1")
            }
        }

        static let hosts: [(hosts: [String], bound: [String], reached: [String])] = [
            (["::"], ["::"], ["127.0.0.1", "::1"]), (["0::0"], ["::"], ["127.0.0.1"]),
            (["localhost"], ["127.0.0.1", "::1"], ["127.0.0.1", "::1"]),
            (["localhost", "::1", "127.0.0.1"], ["127.0.0.1", "::1"], ["127.0.0.1", "::1"]),
            (["::", "127.0.0.1"], ["::", "127.0.0.1"], ["::1"]),
        ]

        @Test(
            "A server listens on each address of its hosts once, with one port for those of a name", arguments: hosts)
        func addresses(_ hosts: [String], _ bound: [String], _ reached: [String]) async throws {
            let server = Server(
                configuration: .init(hosts: hosts, port: 0), logger: LiveServer.silentLogger,
                handler: immediate(LiveServer.echo))
            let addresses = try server.start()
            let first = try #require(addresses.first)
            #expect(addresses.map(\.host) == bound)
            for address in addresses { #expect(server.point(at: address)?.hosts == hosts) }
            for host in reached {
                let client = try await RawClient(host: host, port: first.port)
                try await client.send(request("GET /"))
                #expect(try await client.readResponse().text == "GET / ")
            }
            await server.shutdown(within: .zero)
            #expect(server.point(at: first) == nil)
        }

        @Test("An unknown host and a port in use are reported")
        func cannotStart() async throws {
            let logger = LiveServer.silentLogger
            let unknown = Server(
                configuration: .init(hosts: ["256.1.1.1"], port: 0), logger: logger, handler: immediate(LiveServer.echo)
            )
            let error = #expect(throws: ServerError.self) { try unknown.start() }
            #expect(error?.code == .unknownHost)
            try await LiveServer.run { live in
                let taken = Server(
                    configuration: .init(port: live.port), logger: logger, handler: immediate(LiveServer.echo))
                let error = #expect(throws: ServerError.self) { try taken.start() }
                #expect(error?.code == .addressInUse)
            }
        }

        @Test("Shutdown completes running requests, closes idle connections and accepts no new ones")
        func shutdown() async throws {
            let held = HeldRequest()
            try await LiveServer.run(handler: held.handler) { live in
                let idle = try await live.connect()
                try await idle.send(request("GET /"))
                _ = try await idle.readResponse()
                let fresh = try await live.connect()
                let busy = try await live.connect()
                try await busy.send(request("GET /wait") + request("GET /never"))
                await held.entered.pass()
                #expect(try await live.reachesConnectionCount(3))

                async let cut = live.server.shutdown(within: .seconds(60))
                #expect(try await idle.readUntilClosed() == [])
                #expect(try await fresh.readUntilClosed() == [])
                await #expect(throws: RawClient.Failure.self) { try await live.connect() }
                held.released.open()
                let answers = try RawClient.Response.parseAll(await busy.readUntilClosed())
                #expect(answers.map(\.text) == ["GET /wait "])
                #expect(answers.first?["connection"] == "close")
                await busy.close()
                #expect(await cut == 0)
            }
        }

        @Test(
            "Shutdown closes a connection when its client has taken the response, and serves a request that followed",
            arguments: [false, true])
        func shutdownWhileSending(isFollowed: Bool) async throws {
            let size = 4 << 20
            let handler: Handler = { request in
                guard request.path == "/large" else { return try await LiveServer.echo(request) }
                return Response(status: .ok, body: [UInt8](repeating: 65, count: size))
            }
            var timeouts = ServerTimeouts()
            timeouts.idle = .seconds(600)
            try await LiveServer.run(loops: 1, timeouts: timeouts, handler: handler) { live in
                let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 65536)
                try await client.send(request("GET /large"))
                _ = try await client.readUntil("\r\n\r\n")
                if isFollowed {
                    try await client.send(request("GET /next"))
                    try await client.waitUntilReceived()
                }
                // The loop drains it after the other one.
                let idle = try await live.connect()
                #expect(try await live.reachesConnectionCount(2))
                async let cut = live.server.shutdown(within: .seconds(30))
                #expect(try await idle.readUntilClosed() == [])
                let rest = try await client.readUntilClosed()
                let answers = try RawClient.Response.parseAll(Array(rest.dropFirst(size)))
                #expect(rest.count >= size && answers.map(\.text) == (isFollowed ? ["GET /next "] : []))
                #expect(answers.allSatisfy { $0["connection"] == "close" })
                await client.close()
                #expect(await cut == 0)
            }
        }

        @Test("Shutdown cuts requests that do not complete in time")
        func shutdownCuts() async throws {
            let held = HeldRequest()
            try await LiveServer.run(handler: held.handler) { live in
                let busy = try await live.connect()
                try await busy.send(request("GET /wait"))
                await held.entered.pass()
                #expect(await live.server.shutdown(within: .milliseconds(100)) == 1)
                #expect(await busy.isCutOff())
                #expect(try await live.reachesConnectionCount(0))
                held.released.open()
            }
        }
    }
}
