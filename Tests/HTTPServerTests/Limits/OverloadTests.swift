import EventLoops
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite("A server whose loop has more to do than it can")
struct OverloadTests {
    /// Has the loop that runs this believe that it has been busy for some minutes, and that something waits since then.
    private static func overloadLoop() {
        guard let loop = EventLoop.current else { return }
        let now = MonotonicTime.now()
        var delay = LoopDelay(at: MonotonicTime(nanoseconds: now.nanoseconds - 120_000_000_000))
        for seconds in [60, 0] as [UInt64] {
            delay.endTurn(at: MonotonicTime(nanoseconds: now.nanoseconds - seconds * 1_000_000_000), hasRest: true)
        }
        loop.delay = delay
    }

    /// Overloads the loop on one path, and holds the requests of another one.
    private struct HeldRequests: Sendable {
        private let count = Counter()
        private let released = Gate()

        var handler: Handler {
            { request in
                if request.path == "/overload" { overloadLoop() }
                if request.path == "/wait" {
                    count.increment()
                    await released.pass()
                }
                return try await LiveServer.echo(request)
            }
        }

        /// Sends so many requests that are held, each on a connection of its own.
        func send(_ number: Int, to live: LiveServer) async throws -> [RawClient] {
            var clients: [RawClient] = []
            for _ in 0..<number {
                clients.append(try await live.connect())
                try await clients.last?.send(request("GET /wait"))
            }
            try await until { count.value == number }
            return clients
        }

        func release() { released.open() }
    }

    private final class Counter: Sendable {
        private let state = Mutex(0)
        var value: Int { state.withLock { $0 } }
        func increment() { state.withLock { $0 += 1 } }
    }

    private static func refusal(_ request: Request) -> Response {
        Response(status: .serviceUnavailable, headers: [.retryAfter: "1"], body: Array(request.path.utf8))
    }

    @Test("asks for each request whether to refuse it; the connection is kept", arguments: [7, 8])
    func refusals(inProgress: Int) async throws {
        let delays = Mutex([Duration]())
        let held = HeldRequests()
        try await LiveServer.run(
            loops: 1,
            loadShedder: { request, delay in
                delays.withLock { $0.append(delay) }
                return request.path == "/probe" ? nil : Self.refusal(request)
            }, handler: held.handler
        ) { live in
            let clients = try await held.send(inProgress, to: live)
            let answers = try await live.answers(
                to: request("GET /first") + request("GET /overload")
                    + request("POST /a", "Content-Length: 2", then: "hi")
                    + request("GET /probe") + request("GET /c", "Connection: close"))
            #expect(answers.map { $0["connection"] } == [nil, nil, nil, nil, "close"])
            if inProgress < 8 {
                #expect(answers.map(\.status) == [200, 200, 200, 200, 200])
                #expect(delays.withLock { $0.isEmpty })
            } else {
                #expect(answers.map(\.status) == [200, 200, 503, 200, 503])
                #expect(answers.map(\.text) == ["GET /first ", "GET /overload ", "/a", "GET /probe ", "/c"])
                #expect(answers.map { $0["retry-after"] } == [nil, nil, "1", nil, "1"])
                #expect(delays.withLock { $0.count } == 3)
                #expect(delays.withLock { $0.allSatisfy { $0 >= .seconds(120) } })
            }
            held.release()
            for client in clients { #expect(try await client.readResponse().status == 200) }
            // Those that ended count no longer.
            let later = try await live.answers(
                to: request("GET /overload") + request("GET /d", "Connection: close"))
            #expect(later.map(\.status) == [200, 200])
        }
    }

    @Test("serves all without a rule, and where a listener has a handler of its own")
    func noRule() async throws {
        let text = request("GET /overload") + request("GET /a", "Connection: close")
        let held = HeldRequests()
        try await LiveServer.run(loops: 1, handler: held.handler) { live in
            _ = try await held.send(8, to: live)
            let answers = try await live.answers(to: text)
            #expect(answers.map(\.status) == [200, 200])
        }
        let others = HeldRequests()
        let other = ListeningPoint(hosts: ["127.0.0.1"], port: 0, handler: others.handler)
        try await LiveServer.run(
            besides: [other], loops: 1, loadShedder: { request, _ in Self.refusal(request) }, handler: others.handler
        ) { live in
            _ = try await others.send(8, to: live)
            let client = try await RawClient(port: live.otherPorts[0], limit: .seconds(30))
            try await client.send(text)
            let answers = try RawClient.Response.parseAll(await client.readUntilClosed())
            #expect(answers.map(\.status) == [200, 200])
        }
        held.release()
        others.release()
    }
}
