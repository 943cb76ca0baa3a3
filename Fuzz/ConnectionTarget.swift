import EventLoops
import HTTPTypes
import OutboundHTTP

@testable import HTTPServer

/// The bytes after the first two as what a client sends on one connection. The first byte says in pieces of how many
/// bytes they arrive, the second one how small the limits are and whether the client ends its side afterwards.
///
/// An independent reader of the requests (``PlainRequest``) must find what the connection found: otherwise a proxy and
/// this server could disagree where a request ends.
enum ConnectionTarget {
    static func read(_ bytes: [UInt8]) {
        guard bytes.count > 2 else { return }
        let limits = limits(bytes[1])
        let ends = bytes[1] & 4 != 0
        let sent = Array(bytes.dropFirst(2))
        let whole = Conversation(sent, inPiecesOf: sent.count, thenEnd: ends, limits: limits)
        let cut = Conversation(sent, inPiecesOf: Int(bytes[0]) + 1, thenEnd: ends, limits: limits)
        demand(whole.requests == cut.requests, "the same requests are read however they are cut")
        demand(
            (whole.refusal == nil) == (cut.refusal == nil), "a connection is refused, or not, however it is cut")
        for conversation in [whole, cut] {
            checkRequests(conversation, sent: sent, limits: limits)
            checkResponses(conversation)
        }
    }

    /// Either the defaults, or limits that short inputs reach.
    private static func limits(_ choice: UInt8) -> ServerLimits {
        var limits = ServerLimits()
        if choice & 1 != 0 { limits.bodyBytes = 16 }
        if choice & 2 != 0 {
            limits.requestLineBytes = 64
            limits.headerBytes = 128
            limits.headerFields = 4
            limits.requestsPerConnection = 3
        }
        return limits
    }

    private static func checkRequests(_ conversation: Conversation, sent: [UInt8], limits: ServerLimits) {
        var start = 0
        for request in conversation.requests {
            demand(start < request.end && request.end <= sent.count, "each request has bytes of its own")
            guard let plain = PlainRequest(sent[start..<request.end]) else {
                return demand(false, "what is handled is a request for every reader")
            }
            demand(plain.body == request.body, "every reader finds the same content")
            demand(plain.method == request.method, "every reader finds the same method")
            demand(request.body.count <= limits.bodyBytes, "content has its limit")
            demand(
                plain.headBytes <= limits.requestLineBytes + limits.headerBytes + 4, "a head has its limits")
            demand(
                request.path.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } && !request.path.contains("/../")
                    && (request.path.first == "/" || request.path == "*"),
                "a path is normalized")
            start = request.end
        }
        demand(
            conversation.requests.dropLast().allSatisfy { !$0.closes }, "nothing is handled after the last response")
        demand(
            conversation.requests.last?.closes != true || conversation.refusal == nil,
            "nothing is refused after the last response")
        demand(conversation.requests.count <= limits.requestsPerConnection, "a connection has its requests")
    }

    /// The responses, read by the parser of the outbound client.
    private static func checkResponses(_ conversation: Conversation) {
        var rest = conversation.output[...]
        for (index, request) in conversation.requests.enumerated() {
            // A response to HEAD ends with its head, as one to CONNECT does.
            var parser = ResponseParser(bodyBytes: 1 << 20, isOfConnect: request.method == "HEAD")
            guard let used = try? parser.receive(rest.span), parser.isComplete else {
                return demand(false, "each request has one whole response")
            }
            let isLast = index == conversation.requests.count - 1
            demand(isLast || parser.allowsReuse, "a connection that goes on says so")
            demand(!request.closes || !parser.allowsReuse, "the last response says that it is the last one")
            demand(request.method == "HEAD" || parser.body == request.body, "a response is that to its request")
            rest = rest.dropFirst(used)
        }
        // What follows is at most one interim response to a request that did not become complete.
        demand(rest.count <= ResponseSerializer.continueLine.count, "nothing follows the last response")
    }
}

/// What a connection does with what a client sends. Each response echoes the content of its request.
private struct Conversation {
    struct Request: Equatable {
        let method: String
        let path: String
        let query: String?
        let body: [UInt8]
        /// Where it ends among the bytes that were sent.
        let end: Int
        /// Whether its response was the last one.
        let closes: Bool
    }

    private static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private(set) var requests: [Request] = []
    private(set) var refusal: RequestError?
    private(set) var output: [UInt8] = []
    private var machine: ConnectionMachine
    private var given = 0

    init(_ bytes: [UInt8], inPiecesOf size: Int, thenEnd ends: Bool, limits: ServerLimits) {
        machine = ConnectionMachine(limits: limits, timeouts: ServerTimeouts(), at: Self.start)
        while given < bytes.count, machine.wantsInput {
            let piece = bytes[given..<min(bytes.count, given + size)]
            given += piece.count
            perform(machine.receive(piece.span, at: Self.start))
            demand(
                machine.unused.count - machine.unusedStart
                    <= limits.requestLineBytes + limits.headerBytes + 4 || size == bytes.count,
                "what is kept of a head has its limits")
        }
        if ends, machine.wantsInput { perform(machine.inputEnded()) }
        checkPatience()
    }

    private mutating func perform(_ first: ConnectionMachine.Action) {
        var action = first
        while true {
            switch action {
            case .wait:
                // Perhaps 100 Continue.
                send()
                return
            case .handle(let head, let body): action = handle(head, body)
            case .refuse(let error):
                demand(refusal == nil, "a connection is refused once")
                refusal = error
                action = respond(Response(status: error.status), to: nil)
            case .endWriting: return
            case .close:
                return demand(!machine.wantsInput, "nothing is read after the end")
            }
        }
    }

    private mutating func handle(_ head: RequestHead, _ body: [UInt8]) -> ConnectionMachine.Action {
        let closes = machine.closesAfterResponse
        let end = given - (machine.unused.count - machine.unusedStart)
        requests.append(
            Request(
                method: head.method.rawValue, path: head.path, query: head.rawQuery, body: body, end: end,
                closes: closes))
        return respond(Response(status: .ok, body: body), to: head)
    }

    /// The socket takes all bytes at once. Those of a refusal are not looked at.
    private mutating func respond(_ response: Response, to head: RequestHead?) -> ConnectionMachine.Action {
        let date = Array("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".utf8)
        _ = machine.respond(response, to: head, date: date, at: Self.start)
        send(isSeen: head != nil)
        return machine.nextAction(at: Self.start)
    }

    private mutating func send(isSeen: Bool = true) {
        _ = machine.send { bytes, _ in
            if isSeen { output += bytes }
            return bytes.count
        }
    }

    /// A client that sends nothing more is not waited for.
    private mutating func checkPatience() {
        guard machine.wantsInput else { return }
        demand(machine.deadline < Self.start.advanced(by: .seconds(120)), "a connection that waits has a deadline")
        switch machine.tick(at: machine.deadline) {
        case .close, .refuse: break
        case .wait, .handle, .endWriting: demand(false, "a connection ends at its deadline")
        }
    }
}
