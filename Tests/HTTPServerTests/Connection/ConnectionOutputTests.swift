import EventLoops
import HTTPTypes
import Testing

@testable import HTTPServer

/// The output half of a ``ConnectionMachine``: responses, streams, and the end.
@Suite("The output of a connection")
struct ConnectionOutputTests {
    enum Step: Sendable {
        case receive(String)
        case inputEnded
        /// A response to the request that was received last, or to one that was refused.
        case respond(_ bytes: Int = 0, streamed: Bool = false, turnHasMore: Bool = false)
        /// The socket does not take everything.
        case full
        /// The socket has taken everything.
        case taken
        case piece(_ bytes: Int)
        case streamEnded(isWhole: Bool)
        case drain
        case unreceived(ConnectionMachine.UnreceivedOutput)
        case refuseIncomplete
        /// The socket has nothing to read.
        case allRead
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
        var head: RequestHead?
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
            case .respond(let bytes, let isStreamed, let turnHasMore): respond(bytes, isStreamed, turnHasMore)
            case .full: _ = machine.send { bytes, _ in bytes.count - 1 }
            case .taken:
                _ = machine.send { bytes, _ in bytes.count }
                if machine.isSent { say(machine.nextAction(at: now)) } else { said.append("not sent") }
            case .piece(let bytes):
                let isTaken = machine.write([UInt8](repeating: 0x61, count: bytes), at: now)
                said.append(isTaken ? String(decoding: machine.output.bytes, as: UTF8.self) : "no")
            case .streamEnded(let isWhole):
                let action = machine.streamEnded(isWhole: isWhole, at: now)
                if machine.isSent { say(machine.nextAction(at: now)) } else { say(action) }
            case .refuseIncomplete: say(machine.refuseIncompleteRequest())
            case .allRead: said.append(machine.isDone ? "done" : "not done")
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

        private mutating func respond(_ bytes: Int, _ isStreamed: Bool, _ turnHasMore: Bool) {
            var response = Response(status: .ok, body: [UInt8](repeating: 0x61, count: bytes))
            if isStreamed { response.stream = StreamSource(produce: { _ in }, place: nil) }
            let isLater = machine.respond(response, to: head, date: [], turnHasMore: turnHasMore, at: now)
            let isCopied = machine.output.bytes.count > bytes
            said.append((isLater ? "later" : "now") + (isCopied ? "" : ", apart"))
        }

        private mutating func say(_ action: ConnectionMachine.Action) {
            switch action {
            case .wait where machine.hasInterimResponse: said.append("continue")
            case .wait: said.append(machine.wantsInput ? "read" : "wait")
            case .handle(let head, _):
                self.head = head
                said.append("handle \(head.path)")
            case .refuse(let error):
                head = nil
                said.append("refuse \(error)")
            case .endWriting: said.append("end, read")
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
    /// The rest of its content would be a request.
    private static let begun = request("POST /", "Content-Length: 1000", then: "GET ")
    private static let large = 20_000

    @Test(
        "A response goes to the socket by its length and the loop's turn",
        arguments: [
            Row("short", [.respond(10)], ["now"]),
            Row("16 KiB are copied", [.respond(16 * 1024)], ["now"]),
            Row("more is not", [.respond(16 * 1024 + 1)], ["now, apart"]),
            Row("the turn has more", [.respond(10, turnHasMore: true)], ["later"]),
            Row("a large one does not wait", [.respond(large, turnHasMore: true)], ["now, apart"]),
            Row("a stream does not wait", [.respond(streamed: true, turnHasMore: true)], ["now"]),
        ])
    func routes(_ row: Row) {
        check(Row(row.testDescription, [.receive(Self.get)] + row.steps, ["handle /"] + row.expected))
    }

    @Test("A response to HEAD has no content, however long it would be, and is no stream", arguments: [false, true])
    func head(isStreamed: Bool) {
        check(
            Row(
                "HEAD",
                [.receive(request("HEAD /")), .respond(isStreamed ? 0 : 20, streamed: isStreamed), .taken],
                ["handle /", "now", "read"]))
    }

    @Test("A response after bytes that the socket has not taken does not wait")
    func afterOthers() {
        var run = Run(restriction: nil)
        run.perform(.receive(request("POST /", "Expect: 100-continue", "Content-Length: 1")))
        for step in [Step.receive("x"), .respond(10, turnHasMore: true), .taken] { run.perform(step) }
        #expect(run.said == ["continue", "handle /", "now", "read"])
    }

    @Test(
        "The next request comes after the whole response",
        arguments: [
            Row("kept open", [.receive(get), .respond(), .taken], ["handle /", "now", "read"]),
            Row(
                "the socket is full", [.receive(get), .respond(), .full, .taken, .wait(seconds: 20)],
                ["handle /", "now", "read", "read"]),
            Row(
                "not taken in time", [.receive(get), .respond(), .full, .wait(seconds: 20)],
                ["handle /", "now", "close"]),
            Row(
                "pipelined", [.receive(get + request("GET /b")), .respond(), .taken, .respond(), .taken],
                ["handle /", "now", "handle /b", "now", "read"]),
            Row(
                "the last one: what follows is discarded",
                [.receive(last + get), .respond(), .taken, .receive(get), .wait(seconds: 2)],
                ["handle /", "now", "end, read", "read", "close"]),
            Row(
                "a client that has ended", [.receive(get), .inputEnded, .respond(), .taken],
                ["handle /", "wait", "now", "close"]),
            Row(
                "an error: nothing follows", [.receive("GET /\r\n\r\n" + get), .respond(), .taken, .inputEnded],
                ["refuse requestLine", "now", "end, read", "close"]),
            Row(
                "the server stops", [.receive(get + request("GET /b")), .drain, .respond(), .taken, .inputEnded],
                ["handle /", "wait", "now", "end, read", "close"]),
            Row(
                "the memory of requests is needed", [.receive("GET / HT"), .refuseIncomplete, .respond(), .taken],
                ["read", "refuse incompleteRequests", "now", "end, read"]),
            Row(
                "the memory of what follows a request is needed",
                [.receive(get + get), .refuseIncomplete, .respond(), .taken], ["handle /", "wait", "now", "end, read"]),
            Row(
                "the memory of what follows a response is needed",
                [.receive(get + begun), .respond(), .full, .refuseIncomplete, .taken, .receive("/hidden" + get)],
                ["handle /", "now", "wait", "end, read", "read"]),
            Row(
                "the memory of what follows a stream is needed",
                [
                    .receive(get + begun), .respond(streamed: true), .taken, .refuseIncomplete,
                    .streamEnded(isWhole: true), .taken,
                ],
                ["handle /", "now", "not sent", "wait", "wait", "end, read"]),
        ])
    func order(_ row: Row) { check(row) }

    @Test(
        "When the server stops, a connection is done once it has served what it received",
        arguments: [
            Row("does not stop", [.allRead], ["not done"]),
            Row("idle", [.drain, .allRead], ["read", "done"]),
            Row("a part of a head", [.receive("GET"), .drain, .allRead], ["read", "read", "not done"]),
            Row("a handler has a request", [.receive(get), .drain, .allRead], ["handle /", "wait", "not done"]),
            Row(
                "a response is under way", [.receive(get), .respond(), .full, .drain, .allRead, .taken, .allRead],
                ["handle /", "now", "wait", "not done", "read", "done"]),
            Row(
                "a response is under way, and a request follows",
                [.receive(get), .respond(), .full, .drain, .taken, .receive(get), .respond(), .taken, .allRead],
                ["handle /", "now", "wait", "read", "handle /", "now", "end, read", "not done"]),
            Row(
                "a response is under way, and a request has followed",
                [.receive(get + get), .respond(), .full, .drain, .taken, .allRead, .respond(), .taken],
                ["handle /", "now", "wait", "handle /", "not done", "now", "end, read"]),
        ])
    func stops(_ row: Row) { check(row) }

    private static let piece = "5\r\naaaaa\r\n"

    @Test(
        "A stream sends one piece at a time",
        arguments: [
            Row(
                "chunks, and the last one",
                [.piece(5), .taken, .piece(5), .taken, .streamEnded(isWhole: true), .taken],
                [piece, "not sent", piece, "not sent", "wait", "read"]),
            Row("a second piece before the first is taken", [.piece(5), .piece(5)], [piece, "no"]),
            Row("no piece has no deadline", [.wait(seconds: 1_000)], ["wait"]),
            Row("a piece that is not taken in time", [.piece(5), .full, .wait(seconds: 20)], [piece, "close"]),
            Row(
                "an error in the middle", [.piece(5), .taken, .streamEnded(isWhole: false)],
                [piece, "not sent", "close"]),
            Row("a piece after the end", [.streamEnded(isWhole: true), .piece(5)], ["wait", "no"]),
            Row(
                "the end after the connection's", [.end(inSystem: 0), .streamEnded(isWhole: true), .piece(1)],
                ["release(resetting: false)", "wait", "no"]),
            Row(
                "the server stops: no more pieces", [.drain, .piece(5), .streamEnded(isWhole: true), .taken],
                ["wait", "no", "wait", "end, read"]),
            Row("the server stops, and the reader is slow", [.piece(5), .full, .drain], [piece, "close"]),
            Row(
                "the end while a piece waits", [.piece(5), .full, .streamEnded(isWhole: true), .taken],
                [piece, "wait", "read"]),
        ])
    func streams(_ row: Row) {
        check(
            Row(
                row.testDescription, [.receive(Self.get), .respond(streamed: true), .taken] + row.steps,
                ["handle /", "now", "not sent"] + row.expected))
    }

    @Test(
        "Without chunks the content ends with the connection",
        arguments: [
            Row(
                "all is taken", [.piece(5), .taken, .streamEnded(isWhole: true)], ["aaaaa", "not sent", "end, read"]),
            Row(
                "a piece waits", [.piece(5), .full, .streamEnded(isWhole: true), .taken, .inputEnded],
                ["aaaaa", "wait", "end, read", "close"]),
        ])
    func unframed(_ row: Row) {
        check(
            Row(
                row.testDescription,
                [.receive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), .respond(streamed: true), .taken]
                    + row.steps,
                ["handle /", "now", "not sent"] + row.expected))
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
                "the response is cut: the system keeps nothing",
                [.receive(get), .respond(), .full, .end(inSystem: 0)],
                ["handle /", "now", "release(resetting: true)"]),
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
                ["handle /health", "now", "end, read"]),
            Row("another request", [.receive(get)], ["refuse tooManyConnections"]),
            Row("no request", [.wait(seconds: 2)], ["refuse tooManyConnections"]),
            Row("a malformed request", [.receive("?\r\n\r\n")], ["refuse tooManyConnections"]),
            Row(
                "a second request", [.receive(request("GET /health") + get), .respond(), .taken, .receive(get)],
                ["handle /health", "now", "end, read", "read"]),
            Row(
                "a slow reader", [.receive(request("GET /health")), .respond(), .full, .wait(seconds: 2)],
                ["handle /health", "now", "close"]),
        ])
    func restricted(_ row: Row) {
        check(row, restriction: .init(refusal: .tooManyConnections, probePaths: ["/health"]))
    }

    @Test("The memory of output is what waits here, and what the system has")
    func memory() {
        var output = UnsentOutput()
        func send(_ count: Int) {
            output.bytes = [UInt8](repeating: 0, count: count)
            #expect(output.send { bytes, _ in bytes.count })
        }
        #expect(output.heldBytes(ofSystem: 1000) == 0)
        send(4095)
        #expect(!output.measuresAtTick)
        send(1)
        #expect(output.measuresAtTick && !output.measuresNow)
        send(28 * 1024)
        #expect(output.measuresNow)
        output.update(inSystem: 4095)
        #expect(!output.measuresAtTick && output.heldBytes(ofSystem: 1 << 20) == 0)
        output.update(inSystem: 4096)
        #expect(output.measuresAtTick && output.heldBytes(ofSystem: 1 << 20) == 8192)
        #expect(output.heldBytes(ofSystem: 5000) == 5000)
        output.update(inSystem: 0)
        output.bytes = [UInt8](repeating: 0, count: 100)
        #expect(output.heldBytes(ofSystem: 5000) == 0, "it waits for the end of the loop's turn")
        #expect(output.send { bytes, _ in min(60, bytes.count) } && !output.isEmpty)
        #expect(output.heldBytes(ofSystem: 5000) == 5000 + output.bytes.capacity)
        #expect(!output.send { _, _ in nil })
        #expect(output.heldBytes(ofSystem: 5000) == 5000 + output.bytes.capacity)
        #expect(output.send { bytes, hasMore in bytes.count == 40 && !hasMore ? 40 : nil } && output.isEmpty)
        output.bytes = [0]
        #expect(output.heldBytes(ofSystem: 5000) == 0)
    }

    @Test("Content follows the head from where it is; only what no other response holds is memory of the output")
    func content() {
        final class Owner: Sendable {}
        for owner in [nil, Owner()] {
            var output = UnsentOutput()
            output.bytes = [1, 2]
            output.add(ResponseContent([0, 3, 4, 5, 0], part: 1..<4, owner: owner))
            #expect(output.send { _, _ in 0 })
            #expect(output.heldBytes(ofSystem: 1000) == 1000 + output.bytes.capacity + (owner == nil ? 5 : 0))
            var (sent, others): ([UInt8], [Bool]) = ([], [])
            while !output.isEmpty {
                // The socket takes two bytes, then one at a time.
                #expect(
                    output.send { bytes, hasMore in
                        sent += bytes.prefix(1)
                        others.append(hasMore)
                        return 1
                    })
                // The head takes no memory while the content waits.
                #expect(sent.count < 2 || output.isEmpty || output.bytes.capacity == 0)
            }
            #expect(sent == [1, 2, 3, 4, 5])
            #expect(others == [true, true, false, false, false])
        }
    }
}
