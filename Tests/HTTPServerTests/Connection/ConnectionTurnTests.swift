import EventLoops
import Glibc
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

    @Test("counts what it has received of other requests")
    func heldInput() async throws {
        let ends = Mutex<ConnectionEnds?>(nil)
        let held = Atomic(0)
        let service = ConnectionService.forTest { request in
            if request.path == "/32", let ends = ends.withLock({ $0 }) {
                ends.loop.execute { held.store(ends.service.input.bytes, ordering: .relaxed) }
            }
            return .value(Self.plain(request))
        }
        let loop = try ServerLoop.forTest()
        try await loop.turn {
            let made = try ConnectionEnds(on: loop, service)
            ends.withLock { $0 = made }
            try made.send(
                (1...33).map { request("GET /\($0)") }.joined()
                    + request("POST /", "Content-Length: 30000", then: String(repeating: "x", count: 20_000)))
            made.becomeReady()
        }
        try await loop.turn { ends.withLock { $0.take()?.close() } }
        #expect(held.load(ordering: .relaxed) >= 20_000)
        #expect(service.input.bytes == 0)
    }

    @Test("sends its response before it makes room for another connection")
    func eviction() async throws {
        let service = ConnectionService.forTest { .value(Self.plain($0)) }
        let loop = try ServerLoop.forTest()
        let ends = try await loop.turn(hasMore: true) {
            let ends = try ConnectionEnds(on: loop, service)
            try ends.send(request("GET /waiting"))
            // The loop tells the connection after it has served the request.
            ends.connection.slot.evict()
            ends.becomeReady()
            return ends
        }
        let (said, count) = try await loop.turn {
            defer { ends.close() }
            return (ends.receive(), service.connections.total)
        }
        #expect(said.hasPrefix("HTTP/1.1 200 OK\r\n") && said.hasSuffix("\r\n\r\n/waiting"))
        #expect(count == 1, "it waits for its client")
    }

    @Test("holds nothing if 100 Continue cannot be sent")
    func failedInterimResponse() async throws {
        let service = ConnectionService.forTest { _ in
            .value(Response(status: .ok, body: [UInt8](repeating: 0x61, count: 8192)))
        }
        let loop = try ServerLoop.forTest()
        let ends = try await loop.turn {
            let ends = try ConnectionEnds(on: loop, service)
            try ends.send(request("GET /"))
            // The client does not read the response.
            ends.becomeReady()
            shutdown(ends.descriptor, Int32(SHUT_WR))
            try ends.send(request("POST /", "Content-Length: 1", "Expect: 100-continue"))
            ends.becomeReady()
            return ends
        }
        try await loop.turn { ends.close() }
        #expect(service.connections.total == 0 && service.output.bytes == 0)
    }

    @Test("ends in order when the server stops, if its client has not received the response", arguments: [false, true])
    func stop(isReceived: Bool) async throws {
        let service = ConnectionService.forTest { .value(Self.plain($0)) }
        let loop = try ServerLoop.forTest()
        let (said, rest, count) = try await loop.turn {
            let ends = try ConnectionEnds(on: loop, service)
            try ends.send(request("GET /first"))
            ends.becomeReady()
            let said = isReceived ? ends.receive() : ""
            ends.connection.drain()
            let count = service.connections.total
            if !isReceived {
                // Too late, and discarded.
                try ends.send(request("GET /late"))
                ends.becomeReady()
            }
            defer { ends.close() }
            return (said, ends.receive(), count)
        }
        #expect(count == (isReceived ? 0 : 1))
        #expect((said + rest).hasSuffix("\r\n\r\n/first"))
        #expect((said + rest).split(separator: "HTTP/1.1 ").count == 1)
    }

    @Test("is busy with the next request if sending a response at once begins it")
    func nextRequest() async throws {
        let produced = Atomic(0)
        let suspended = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let (gate, others) = (Gate(), 31)
        defer { gate.open() }
        let service = ConnectionService.forTest { request in
            guard request.path == "/stream" else { return .value(Self.plain(request)) }
            return .task {
                if request.method == .head {
                    await withCheckedContinuation { continuation in suspended.withLock { $0 = continuation } }
                }
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
            ends[0].becomeReady()
            // Continues after the other connections, and before what waits for the end of the turn.
            suspended.withLock { $0.take() }?.resume()
            for other in ends.dropFirst() {
                try other.send(request("GET /"))
                other.becomeReady()
            }
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
