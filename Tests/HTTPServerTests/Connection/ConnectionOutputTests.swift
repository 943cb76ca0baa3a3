import EventLoops
import Testing

@testable import HTTPServer

/// The output half of a ``ConnectionMachine``: responses, streams, and the end.
@Suite("The output of a connection")
struct ConnectionOutputTests {
    enum Step: Sendable {
        case receive(String)
        case inputEnded
        /// A response; with a framing it is streamed.
        case respond(_ bytes: Int = 0, sendsContent: Bool = true, framed: Bool? = nil, turnHasMore: Bool = false)
        /// As the machine says that it must.
        case respondAsLast
        /// The socket does not take everything.
        case full
        /// The socket has taken everything.
        case taken
        case piece(_ bytes: Int)
        case streamEnded(isWhole: Bool)
        case drain
        case unreceived(ConnectionMachine.UnreceivedOutput)
        case end(inSystem: Int)
        case handshake
        /// Time passes, and the machine is told.
        case wait(seconds: Int)
        /// Time passes.
        case pass(seconds: Int)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        /// What the machine says to each step that asks it something.
        let expected: [String]

        init(_ name: String, _ steps: [Step], _ expected: [String]) {
            testDescription = name
            self.steps = steps
            self.expected = expected
        }
    }

    private struct Run {
        var machine: ConnectionMachine
        var now = MachineDriver.start
        var said: [String] = []

        init(restriction: ConnectionMachine.Restriction?) {
            var timeouts = ServerTimeouts()
            (timeouts.write, timeouts.idle) = (.seconds(20), .seconds(60))
            machine = ConnectionMachine(
                limits: ServerLimits(), timeouts: timeouts, restriction: restriction, at: MachineDriver.start)
        }

        mutating func perform(_ step: Step) {
            switch step {
            case .receive(let text): say(machine.receive(wire(text).span, at: now))
            case .inputEnded: say(machine.inputEnded())
            case .respond(let bytes, let sendsContent, let isFramed, let turnHasMore):
                let route = machine.respond(
                    contentBytes: bytes, sendsContent: sendsContent, isLast: machine.closesAfterResponse,
                    streaming: isFramed, turnHasMore: turnHasMore, at: now)
                said.append("\(route)")
            case .respondAsLast: said.append("\(machine.respond(contentBytes: 0, isLast: true, at: now))")
            case .full: machine.output.add([1])
            case .taken:
                _ = machine.output.send { bytes, _ in bytes.count }
                machine.outputWasSent()
                if machine.isSent { say(machine.nextAction(at: now)) } else { said.append("not sent") }
            case .piece(let bytes): said.append("\(machine.write(pieceOf: bytes, at: now))")
            case .streamEnded(let isWhole):
                said.append("\(machine.streamEnded(isWhole: isWhole, at: now))")
                if machine.isSent { say(machine.nextAction(at: now)) }
            case .drain: say(machine.drain())
            case .unreceived(let unreceived): machine.unreceived = unreceived
            case .end(let bytes): said.append("\(machine.end(inSystem: bytes, at: now))")
            case .handshake: machine.beginHandshake(until: now.advanced(by: .seconds(5)))
            case .pass(let seconds): now = now.advanced(by: .seconds(seconds))
            case .wait(let seconds):
                now = now.advanced(by: .seconds(seconds))
                say(machine.tick(at: now))
            }
        }

        private mutating func say(_ action: ConnectionMachine.Action) {
            switch action {
            case .wait: said.append(machine.wantsInput ? "read" : "wait")
            case .sendContinue: said.append("continue")
            case .handle(let head, _): said.append("handle \(head.path)")
            case .refuse(let error): said.append("refuse \(error)")
            case .close: said.append("close")
            }
        }
    }

    private func check(_ row: Row, restriction: ConnectionMachine.Restriction? = nil) {
        var run = Run(restriction: restriction)
        for step in row.steps { run.perform(step) }
        #expect(run.said == row.expected)
    }

    private static let get = request("GET /")
    private static let last = request("GET /", "Connection: close")
    private static let large = 20_000

    @Test(
        "A response goes to the socket by its length and the loop's turn",
        arguments: [
            Row("short", [.respond(10)], ["together"]),
            Row("16 KiB are copied", [.respond(16 * 1024)], ["together"]),
            Row("more is not", [.respond(16 * 1024 + 1)], ["apart"]),
            Row("HEAD has no content", [.respond(large, sendsContent: false)], ["together"]),
            Row("the turn has more", [.respond(10, turnHasMore: true)], ["atEndOfTurn"]),
            Row("a large one does not wait", [.respond(large, turnHasMore: true)], ["apart"]),
            Row("a stream does not wait", [.respond(framed: true, turnHasMore: true)], ["together"]),
            Row("after bytes that wait", [.full, .respond(10, turnHasMore: true)], ["together"]),
        ])
    func routes(_ row: Row) {
        check(Row(row.testDescription, [.receive(Self.get)] + row.steps, ["handle /"] + row.expected))
    }

    @Test(
        "The next request comes after the whole response",
        arguments: [
            Row("kept open", [.receive(get), .respond(), .taken], ["handle /", "together", "read"]),
            Row(
                "the socket is full", [.receive(get), .respond(), .full, .taken, .wait(seconds: 20)],
                ["handle /", "together", "read", "read"]),
            Row(
                "not taken in time", [.receive(get), .respond(), .full, .wait(seconds: 20)],
                ["handle /", "together", "close"]),
            Row(
                "pipelined", [.receive(get + request("GET /b")), .respond(), .taken, .respond(), .taken],
                ["handle /", "together", "handle /b", "together", "read"]),
            Row(
                "the last one: what follows is discarded",
                [.receive(last + get), .respond(), .taken, .receive(get), .wait(seconds: 2)],
                ["handle /", "together", "read", "read", "close"]),
            Row(
                "a client that has ended", [.receive(get), .inputEnded, .respond(), .taken],
                ["handle /", "wait", "together", "close"]),
            Row(
                "an error: nothing follows", [.receive("GET /\r\n\r\n" + get), .respondAsLast, .taken, .inputEnded],
                ["refuse requestLine", "together", "read", "close"]),
            Row(
                "the server stops", [.receive(get + request("GET /b")), .drain, .respond(), .taken, .inputEnded],
                ["handle /", "wait", "together", "read", "close"]),
        ])
    func order(_ row: Row) { check(row) }

    @Test(
        "A stream sends one piece at a time",
        arguments: [
            Row(
                "chunks, and the last one",
                [.piece(5), .taken, .piece(5), .taken, .streamEnded(isWhole: true), .taken],
                ["send(isFramed: true)", "not sent", "send(isFramed: true)", "not sent", "sendLastChunk", "read"]),
            Row("an empty piece", [.piece(0), .piece(1)], ["skip", "send(isFramed: true)"]),
            Row(
                "a second piece before the first is taken", [.piece(5), .piece(5)], ["send(isFramed: true)", "refuse"]),
            Row("no piece has no deadline", [.wait(seconds: 1_000)], ["wait"]),
            Row(
                "a piece that is not taken in time", [.piece(5), .full, .wait(seconds: 20)],
                ["send(isFramed: true)", "close"]),
            Row(
                "an error in the middle", [.piece(5), .taken, .streamEnded(isWhole: false)],
                ["send(isFramed: true)", "not sent", "cut"]),
            Row("a piece after the end", [.streamEnded(isWhole: true), .piece(5)], ["sendLastChunk", "refuse"]),
            Row(
                "the end after the connection's", [.end(inSystem: 0), .streamEnded(isWhole: true), .piece(1)],
                ["release(resetting: false)", "ignore", "refuse"]),
            Row(
                "the server stops: no more pieces", [.drain, .piece(5), .streamEnded(isWhole: true), .taken],
                ["wait", "refuse", "sendLastChunk", "read"]),
            Row(
                "the server stops, and the reader is slow", [.piece(5), .full, .drain],
                ["send(isFramed: true)", "close"]),
            Row(
                "the end while a piece waits", [.piece(5), .full, .streamEnded(isWhole: true), .taken],
                ["send(isFramed: true)", "sendLastChunk", "read"]),
        ])
    func streams(_ row: Row) {
        check(
            Row(
                row.testDescription, [.receive(Self.get), .respond(framed: true), .taken] + row.steps,
                ["handle /", "together", "not sent"] + row.expected))
    }

    @Test(
        "Without chunks the content ends with the connection",
        arguments: [
            Row(
                "all is taken", [.piece(5), .taken, .streamEnded(isWhole: true)],
                ["send(isFramed: false)", "not sent", "nothing", "read"]),
            Row(
                "a piece waits", [.piece(5), .full, .streamEnded(isWhole: true), .taken, .inputEnded],
                ["send(isFramed: false)", "nothing", "read", "close"]),
        ])
    func unframed(_ row: Row) {
        check(
            Row(
                row.testDescription, [.receive("GET / HTTP/1.0\r\n\r\n"), .respond(framed: false), .taken] + row.steps,
                ["handle /", "together", "not sent"] + row.expected))
    }

    @Test(
        "A connection keeps its place until its peer has everything",
        arguments: [
            Row("nothing is left", [.end(inSystem: 0), .end(inSystem: 0)], ["release(resetting: false)", "none"]),
            Row(
                "the peer receives the rest", [.end(inSystem: 9), .end(inSystem: 5), .end(inSystem: 0)],
                ["linger", "wait", "release(resetting: false)"]),
            Row(
                "the peer is too slow", [.end(inSystem: 9), .pass(seconds: 20), .end(inSystem: 9)],
                ["linger", "release(resetting: true)"]),
            Row(
                "the response is cut: the system keeps nothing", [.full, .end(inSystem: 0)],
                ["release(resetting: true)"]),
            Row("the server stops", [.unreceived(.detach), .end(inSystem: 9)], ["release(resetting: false)"]),
            Row(
                "the server stops meanwhile", [.end(inSystem: 9), .unreceived(.detach), .end(inSystem: 9)],
                ["linger", "release(resetting: false)"]),
            Row("its place is given away", [.unreceived(.discarded), .end(inSystem: 9)], ["release(resetting: true)"]),
            Row(
                "its place is given away meanwhile", [.end(inSystem: 9), .unreceived(.discarded), .end(inSystem: 9)],
                ["linger", "release(resetting: true)"]),
            Row("in a handshake", [.handshake, .end(inSystem: 9)], ["release(resetting: true)"]),
            Row(
                "the server stops in a handshake", [.handshake, .unreceived(.detach), .drain, .end(inSystem: 9)],
                ["close", "release(resetting: true)"]),
            Row(
                "a handshake that takes too long", [.handshake, .wait(seconds: 4), .wait(seconds: 1)],
                ["wait", "close"]),
        ])
    func ends(_ row: Row) { check(row) }

    @Test(
        "Beyond the limits, one request for a probe is served, within two seconds",
        arguments: [
            Row(
                "a probe", [.receive(request("GET /health")), .respond(), .taken],
                ["handle /health", "together", "read"]),
            Row("another request", [.receive(get)], ["refuse tooManyConnections"]),
            Row("no request", [.wait(seconds: 2)], ["refuse tooManyConnections"]),
            Row("a malformed request", [.receive("?\r\n\r\n")], ["refuse tooManyConnections"]),
            Row(
                "a second request", [.receive(request("GET /health") + get), .respond(), .taken, .receive(get)],
                ["handle /health", "together", "read", "read"]),
            Row(
                "a slow reader", [.receive(request("GET /health")), .respond(), .full, .wait(seconds: 2)],
                ["handle /health", "together", "close"]),
        ])
    func restricted(_ row: Row) {
        check(row, restriction: .init(refusal: .tooManyConnections, probePaths: ["/health"]))
    }

    @Test("The memory of output is what waits here, and what the system has")
    func memory() {
        var output = UnsentOutput()
        #expect(output.heldBytes(ofSystem: 1000) == 0)
        output.count(4095)
        #expect(!output.measuresAtTick)
        output.count(1)
        #expect(output.measuresAtTick && !output.measuresNow)
        output.count(28 * 1024)
        #expect(output.measuresNow)
        output.update(inSystem: 4095)
        #expect(!output.measuresAtTick && output.heldBytes(ofSystem: 1 << 20) == 0)
        output.update(inSystem: 4096)
        #expect(output.measuresAtTick && output.heldBytes(ofSystem: 1 << 20) == 8192)
        #expect(output.heldBytes(ofSystem: 5000) == 5000)
        output.add([UInt8](repeating: 0, count: 100))
        #expect(output.heldBytes(ofSystem: 5000) == 5100)
        #expect(output.send { bytes, _ in min(60, bytes.count) } && !output.isEmpty)
        #expect(output.heldBytes(ofSystem: 5000) == 5100)
        #expect(!output.send { _, _ in nil })
        #expect(output.send { bytes, hasMore in bytes.count == 40 && !hasMore ? 40 : nil } && output.isEmpty)
    }
}
