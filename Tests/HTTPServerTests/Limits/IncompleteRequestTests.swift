import EventLoops
import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// Clients that announce much, send most of it, and never the end. Over sockets, at a small scale.
@Suite("Incomplete requests", .serialized, .timeLimit(.minutes(5)))
struct IncompleteRequestTests {
    private static let announced = 65_536
    private static let sent = 65_400
    private static let budget = 1 << 20

    private var limits: ServerLimits {
        var limits = ServerLimits()
        limits.incompleteBytes = Self.budget
        return limits
    }

    /// The start of a request, with the part of its content that arrives.
    enum Form: CaseIterable, Sendable {
        case length, chunked, pipelined

        var start: [UInt8] {
            let content = [UInt8](repeating: UInt8(ascii: "x"), count: IncompleteRequestTests.sent)
            switch self {
            case .length:
                return Array(request("POST /", "Content-Length: \(IncompleteRequestTests.announced)").utf8) + content
            case .chunked:
                let size = String(IncompleteRequestTests.announced, radix: 16)
                return Array(request("POST /", "Transfer-Encoding: chunked", then: size + "\r\n").utf8) + content
            case .pipelined: return Array(request("GET /first").utf8) + Form.length.start
            }
        }
    }

    @Test(
        "Those of one address stay within the budget; another's request is served, and the memory is given back",
        arguments: Form.allCases)
    func budget(_ form: Form) async throws {
        try await LiveServer.run(limits: limits) { live in
            let server = live.server
            let honest = try await live.connect(limit: .seconds(120), from: "127.0.1.3")
            try await honest.send(
                request("POST /slow", "Content-Length: 20000", then: String(repeating: "y", count: 10_000)))
            try await until { server.statistics.incompleteBytes > 0 }
            var clients: [RawClient] = []
            for _ in 0..<40 {
                let client = try await live.connect(limit: .seconds(120), from: "127.0.0.2")
                try await client.send(form.start)
                try await client.waitUntilReceived()
                clients.append(client)
                #expect(server.statistics.incompleteBytes <= Self.budget)
            }
            // Each holds at most twice what it sent.
            try await until { (server.statistics.limited[.incompleteRequests] ?? 0) >= 40 - Self.budget / Self.sent }
            #expect(server.statistics.incompleteBytes <= Self.budget)
            // The one that was incomplete for longest.
            if form == .pipelined { #expect(try await clients[0].readResponse().status == 200) }
            let refusal = try await clients[0].readResponse()
            #expect(refusal.status == 503 && refusal["retry-after"] == "5" && refusal["connection"] == "close")
            // Another network is served: a new request, and one that was incomplete all the time.
            let other = try await live.connect(limit: .seconds(120), from: "127.0.1.4")
            try await other.send(request("POST /", "Content-Length: 5", then: "hello"))
            #expect(try await other.readResponse().status == 200)
            try await honest.send(String(repeating: "y", count: 10_000))
            #expect(try await honest.readResponse().status == 200)
            for client in clients { await client.close() }
            try await until { server.statistics.incompleteBytes == 0 }
            // The last one gets its answer when it has arrived.
            let late = try await live.connect(limit: .seconds(120), from: "127.0.0.2")
            try await late.send(form.start)
            try await until { server.statistics.incompleteBytes > 0 }
            try await late.send([UInt8](repeating: UInt8(ascii: "x"), count: Self.announced - Self.sent))
            if form == .chunked { try await late.send("\r\n0\r\n\r\n") }
            if form == .pipelined { #expect(try await late.readResponse().status == 200) }
            #expect(try await late.readResponse().status == 200)
            #expect(server.statistics.incompleteBytes == 0)
        }
    }

    @Test("What follows a request in progress is dropped at the budget, and that request is answered")
    func following() async throws {
        let held = HeldRequest()
        defer { held.released.open() }
        try await LiveServer.run(loops: 1, limits: limits, handler: held.handler) { live in
            let first = try await live.connect(limit: .seconds(120), from: "127.0.0.2")
            // Its rest arrives with it, in one read.
            try await first.send(
                request("GET /wait")
                    + request("POST /x", "Content-Length: 30000", then: String(repeating: "x", count: 20_000)))
            try await until { live.server.statistics.incompleteBytes > 0 }
            var clients: [RawClient] = []
            while live.server.statistics.limited[.incompleteRequests] == 0 {
                let client = try await live.connect(limit: .seconds(120), from: "127.0.0.2")
                try await client.send(Form.length.start)
                try await client.waitUntilReceived()
                clients.append(client)
            }
            held.released.open()
            let response = try await first.readResponse()
            #expect(response.status == 200 && response["connection"] == "close")
        }
    }
}

/// What one connection holds.
@Suite("The memory of a request that arrives in pieces")
struct HeldBytesTests {
    private let content = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)

    private func begun(_ start: String) -> MachineDriver {
        var driver = MachineDriver()
        driver.receive(start)
        return driver
    }

    @Test("Nothing is held of a request that arrives at once", arguments: [0, 1, 65_536])
    func whole(_ count: Int) {
        var driver = MachineDriver()
        driver.receive((wire(request("POST /", "Content-Length: \(count)")) + content.prefix(count))[...])
        #expect(driver.outcome.handled.count == 1 && driver.machine.heldBytes == 0)
    }

    @Test("Content is held until it is whole, and no more than was announced, or twice what has come")
    func pieces() {
        var driver = begun(request("POST /", "Content-Length: 65536"))
        var received = 0
        for piece in stride(from: 0, to: 65_000, by: 1000).map({ content[$0..<($0 + 1000)] }) {
            driver.receive(piece)
            received += piece.count
            #expect(driver.machine.heldBytes >= received)
            // The system rounds a block up.
            #expect(driver.machine.heldBytes <= min(65_536, 2 * received) + 4096)
        }
        #expect(driver.outcome.handled.isEmpty)
        driver.receive(content[65_000...])
        #expect(driver.outcome.handled.map(\.body) == [content])
        #expect(driver.machine.heldBytes == 0)
    }

    @Test(
        "Nothing is held after the end of the content, a refusal, or the end of the connection",
        arguments: [
            request("POST /", "Transfer-Encoding: chunked", then: "4\r\nabc"),
            request("POST /", "Content-Length: 9", then: "abc"),
            "GET / HTTP/1.1\r\nHost: a\r\nX: y",
        ])
    func released(_ start: String) {
        var driver = begun(start)
        #expect(driver.machine.heldBytes > 0)
        driver.inputEnded()
        #expect(driver.outcome.refusal == .incomplete && driver.machine.heldBytes == 0)
        var closed = begun(start)
        _ = closed.machine.end(inSystem: 0, at: MachineDriver.start)
        #expect(closed.machine.heldBytes == 0)
    }
}
