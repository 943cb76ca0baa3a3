import EventLoops
import HTTPTypes
import Primitives
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// What happens to a connection between two pieces of its work.
@Suite("A connection that waits for other work of its loop")
struct ConnectionTurnTests {
    private static func plain(_ request: Request) -> Response {
        Response(status: .ok, contentType: "text/plain", text: request.path)
    }

    @Test("sends 100 Continue before the response, also if the content comes while other connections run")
    func interimResponse() async throws {
        let ends = Mutex<ConnectionEnds?>(nil)
        let service = ConnectionService.forTest { request in
            // The last one of the turn.
            guard request.path == "/32", let ends = ends.withLock({ $0 }) else { return .value(Self.plain(request)) }
            try ends.send("x")
            ends.loop.execute { ends.becomeReady() }
            return .value(Self.plain(request))
        }
        let loop = try ServerLoop.forTest()
        try await loop.turn {
            let made = try ConnectionEnds(on: loop, service)
            ends.withLock { $0 = made }
            try made.send(
                (1...32).map { request("GET /\($0)") }.joined()
                    + request("POST /last", "Content-Length: 1", "Expect: 100-continue"))
            made.becomeReady()
        }
        let said = try await loop.turn {
            defer { ends.withLock { $0.take()?.close() } }
            return ends.withLock { $0?.receive() } ?? ""
        }
        let contents = said.split(separator: "HTTP/1.1 ").map { String($0.split(separator: "\r\n").last ?? "") }
        #expect(contents == (1...32).map { "/\($0)" } + ["100 Continue", "/last"])
    }

    @Test("is busy with the next request if sending a response at once begins it")
    func nextRequest() async throws {
        let produced = Atomic(0)
        let (gate, others) = (Gate(), 31)
        defer { gate.open() }
        let service = ConnectionService.forTest { request in
            guard request.path == "/stream" else { return .value(Self.plain(request)) }
            return .task {
                // The other connections come first.
                if request.method == .head { await Task.yield() }
                return try request.stream(headers: [:]) { _ in
                    produced.add(1, ordering: .relaxed)
                    await gate.pass()
                }
            }
        }
        let loop = try ServerLoop.forTest()
        let ends = try await loop.turn(hasMore: true) {
            // Its response is the one more that does not wait.
            let ends = try (0...others).map { _ in try ConnectionEnds(on: loop, service) }
            try ends[0].send(request("HEAD /stream") + request("GET /stream"))
            for other in ends.dropFirst() { try other.send(request("GET /")) }
            for end in ends { end.becomeReady() }
            return ends
        }
        await gate.untilWaiting()
        let isBusy = try await loop.turn { ends[0].connection.slot.idleSince == nil }
        #expect(isBusy)
        gate.open()
        let said = try await loop.turn {
            defer { for end in ends { end.close() } }
            return ends[0].receive()
        }
        #expect(said.split(separator: "HTTP/1.1 200 ").count == 2 && said.hasSuffix("\r\n\r\n0\r\n\r\n"))
        #expect(produced.load(ordering: .relaxed) == 1)
    }
}
