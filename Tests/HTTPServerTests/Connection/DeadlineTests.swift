import EventLoops
import HTTPTypes
import Testing

@testable import HTTPServer

/// Uses a manual clock. All limits differ, so that none can hide another.
@Suite("Deadlines of a connection")
struct DeadlineTests {
    private static let timeouts: ServerTimeouts = {
        var timeouts = ServerTimeouts()
        timeouts.idle = .seconds(60)
        timeouts.header = .seconds(10)
        timeouts.body = .seconds(30)
        timeouts.write = .seconds(20)
        return timeouts
    }()

    @Test("By default, a connection is kept longer than most proxies keep it, which is 60 seconds")
    func idleDefault() {
        #expect(ServerTimeouts().idle == .seconds(75))
    }

    private func makeDriver(limits: ServerLimits = ServerLimits()) -> MachineDriver {
        MachineDriver(limits: limits, timeouts: DeadlineTests.timeouts)
    }

    private static func time(_ duration: Duration) -> MonotonicTime { MachineDriver.start.advanced(by: duration) }

    /// Received bytes, the time for the next ones, and the result when it passes.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let pieces: [String]
        let seconds: Int
        /// Nil if the connection is closed without a response.
        let refusal: RequestError?

        init(_ name: String, _ pieces: [String], _ seconds: Int, _ refusal: RequestError?) {
            testDescription = name
            self.pieces = pieces
            self.seconds = seconds
            self.refusal = refusal
        }
    }

    @Test(
        "Each phase has a deadline that later bytes do not move",
        arguments: [
            Row("before the first byte", [], 10, nil),
            Row("between requests", [request("GET /")], 60, nil),
            Row("one byte of a head", ["G"], 10, .headerTimeout),
            Row("an empty line only", ["\r\n"], 10, .headerTimeout),
            Row("a dripping head", ["GET / HTTP/1.1\r\n", "Host", ": a", "\r\n", "X: y\r\n"], 10, .headerTimeout),
            Row("a second head", [request("GET /"), "GET"], 11, .headerTimeout),
            Row("a second head in the same piece", [request("GET /") + "GET"], 10, .headerTimeout),
            Row("content", [request("POST /", "Content-Length: 5")], 30, .bodyTimeout),
            Row(
                "content waited for after 100", [request("POST /", "Content-Length: 5", "Expect: 100-continue")], 30,
                .bodyTimeout),
            Row("dripping content", [request("POST /", "Content-Length: 5"), "h", "e", "l", "l"], 30, .bodyTimeout),
            Row(
                "a dripping head and dripping content",
                ["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n", "\r\n", "h"], 31, .bodyTimeout),
            Row("chunks", [request("POST /", "Transfer-Encoding: chunked")], 30, .bodyTimeout),
            Row(
                "dripping chunks", [request("POST /", "Transfer-Encoding: chunked"), "1\r\na\r\n", "1\r\na\r\n", "1"],
                30, .bodyTimeout),
            Row("trailers", [request("POST /", "Transfer-Encoding: chunked"), "0\r\n", "X: y\r\n"], 30, .bodyTimeout),
        ])
    func phases(_ row: Row) {
        var driver = makeDriver()
        for (second, piece) in row.pieces.enumerated() {
            driver.now = DeadlineTests.time(.seconds(second))
            driver.receive(piece)
        }
        let limit = DeadlineTests.time(.seconds(row.seconds))
        #expect(driver.machine.deadline == limit)
        driver.now = DeadlineTests.time(.seconds(row.seconds) - .nanoseconds(1))
        driver.perform(driver.machine.tick(at: driver.now))
        #expect(driver.outcome.refusal == nil && !driver.outcome.isClosed)
        driver.now = limit
        driver.perform(driver.machine.tick(at: limit))
        #expect(driver.outcome.refusal == row.refusal)
        #expect(driver.outcome.isClosed == (row.refusal == nil))
    }

    @Test("A handler has no deadline")
    func handling() {
        var machine = makeDriver().machine
        guard case .handle = machine.receive(wire(request("GET /")).span, at: MachineDriver.start) else {
            Issue.record("not handled")
            return
        }
        #expect(machine.deadline == .never)
        #expect(!machine.wantsInput)
        guard case .wait = machine.tick(at: DeadlineTests.time(.seconds(1_000_000))) else {
            Issue.record("cut")
            return
        }
    }

    @Test("A response that is not sent in time is cut")
    func writing() {
        var machine = makeDriver().machine
        _ = machine.receive(wire(request("GET /")).span, at: MachineDriver.start)
        _ = machine.respond(Response(status: .ok), to: nil, date: [], at: DeadlineTests.time(.seconds(5)))
        #expect(machine.deadline == DeadlineTests.time(.seconds(25)))
        #expect(isWait(machine.tick(at: DeadlineTests.time(.seconds(24)))))
        #expect(isClose(machine.tick(at: DeadlineTests.time(.seconds(25)))))
    }

    @Test("After the last response a client may send for two seconds, and at most 1 MiB")
    func lingering() {
        var driver = makeDriver()
        driver.receive(request("GET /", "Connection: close"))
        #expect(driver.outcome.handled.map(\.closes) == [true])
        #expect(driver.machine.wantsInput)
        #expect(driver.machine.deadline == DeadlineTests.time(.seconds(2)))
        let piece = [UInt8](repeating: 0, count: 1 << 16)
        for _ in 0..<16 { driver.receive(piece[...]) }
        #expect(!driver.outcome.isClosed)
        #expect(driver.machine.deadline == DeadlineTests.time(.seconds(2)))
        driver.receive([0])
        #expect(driver.outcome.isClosed)

        var other = makeDriver()
        other.receive(request("GET /", "Connection: close"))
        other.perform(other.machine.tick(at: DeadlineTests.time(.seconds(2))))
        #expect(other.outcome.isClosed)
    }

    @Test("The last request of a connection gets Connection: close")
    func requestsPerConnection() {
        var limits = ServerLimits()
        limits.requestsPerConnection = 3
        var driver = makeDriver(limits: limits)
        driver.receive(String(repeating: request("GET /"), count: 5))
        #expect(driver.outcome.handled.map(\.closes) == [false, false, true])
        #expect(driver.outcome.refusal == nil)
    }

    @Test("Draining ends an idle connection at once")
    func drainIdle() {
        var fresh = makeDriver()
        #expect(isWait(fresh.machine.drain()) && fresh.machine.isDone)
        var used = makeDriver()
        used.receive(request("GET /"))
        #expect(isWait(used.machine.drain()) && used.machine.isDone)
    }

    @Test("Draining completes a request that has begun, as the last one")
    func drainBusy() {
        for cut in [1, 10, 30] {
            let bytes = wire(request("GET /") + request("GET /b"))
            var driver = makeDriver()
            driver.receive(bytes[..<cut])
            #expect(isWait(driver.machine.drain()))
            driver.receive(bytes[cut...])
            #expect(driver.outcome.handled.map(\.closes) == [true])
        }
        var machine = makeDriver().machine
        _ = machine.receive(wire(request("GET /")).span, at: MachineDriver.start)
        #expect(!machine.closesAfterResponse)
        #expect(isWait(machine.drain()))
        #expect(machine.closesAfterResponse)
    }

    private func isWait(_ action: ConnectionMachine.Action) -> Bool { if case .wait = action { true } else { false } }
    private func isClose(_ action: ConnectionMachine.Action) -> Bool { if case .close = action { true } else { false } }
}
