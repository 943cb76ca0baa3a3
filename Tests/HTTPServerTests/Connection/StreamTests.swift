import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Streamed responses.
@Suite struct StreamTests {
    private static func streaming(_ produce: @escaping ResponseProducer) -> Handler {
        { request in
            guard request.path == "/stream" else {
                return Response(status: .ok, contentType: "text/plain", text: "plain")
            }
            return try request.stream(headers: [.contentType: "text/event-stream"], produce)
        }
    }

    private static let request = wire("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")

    @Test("Pieces arrive as they are written, in chunks, and the connection serves the next request")
    func chunks() async throws {
        let gate = Gate()
        let handler = Self.streaming { writer in
            try await writer.write(Array("first".utf8))
            try await writer.write([])
            await gate.pass()
            try await writer.write(Array("second".utf8))
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect()
            try await client.send(Self.request)
            let begin = try await client.readUntil("5\r\nfirst\r\n")
            #expect(begin.contains("Transfer-Encoding: chunked\r\n"))
            #expect(!begin.contains("Content-Length"))
            #expect(begin.contains("\r\n\r\n5\r\nfirst\r\n"))
            gate.open()
            let rest = try await client.readUntil("0\r\n\r\n")
            #expect(rest == "6\r\nsecond\r\n0\r\n\r\n")
            try await client.send(wire("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
            let last = String(decoding: try await client.readUntilClosed(), as: UTF8.self)
            #expect(last.hasSuffix("plain"))
        }
    }

    @Test("HTTP/1.0 gets the content unframed until the connection closes; HEAD gets none")
    func otherForms() async throws {
        let calls = Atomic(0)
        let handler = Self.streaming { writer in
            calls.add(1, ordering: .relaxed)
            try await writer.write(Array("all".utf8))
        }
        try await LiveServer.run(handler: handler) { live in
            let old = try await live.connect()
            try await old.send(wire("GET /stream HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"))
            let text = String(decoding: try await old.readUntilClosed(), as: UTF8.self)
            #expect(text.hasSuffix("\r\n\r\nall"))
            #expect(text.contains("Connection: close\r\n"))
            #expect(!text.contains("Transfer-Encoding"))
            let head = try await live.connect()
            try await head.send(wire("HEAD /stream HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
            let answer = String(decoding: try await head.readUntilClosed(), as: UTF8.self)
            #expect(answer.hasSuffix("\r\n\r\n"))
            #expect(calls.load(ordering: .relaxed) == 1)
        }
    }

    @Test("A status without content has none, and the connection serves the next request")
    func noContent() async throws {
        let handler: Handler = { request in
            guard request.path == "/stream" else {
                return Response(status: .ok, contentType: "text/plain", text: "plain")
            }
            return try request.stream(status: .noContent, headers: [:]) { writer in try await writer.write([1]) }
        }
        try await LiveServer.run(handler: handler) { live in
            let text = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            let answers = try await live.answers(to: text)
            #expect(answers.map(\.status) == [204, 200])
            #expect(answers.last?.text == "plain")
        }
    }

    @Test("A slow reader gets everything, and delays the producer")
    func backPressure() async throws {
        let pieces = 96
        let size = 128 * 1024
        let made = Atomic(0)
        let handler = Self.streaming { writer in
            for number in 0..<pieces {
                made.add(1, ordering: .relaxed)
                try await writer.write([UInt8](repeating: UInt8(number), count: size))
            }
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 65536)
            try await client.send(wire("GET /stream HTTP/1.0\r\nHost: a\r\n\r\n"))
            _ = try await client.readUntil("\r\n\r\n")
            try await client.waitForBytes(8 * size)
            // The sockets buffer a few MiB at most; this is twelve.
            #expect(made.load(ordering: .relaxed) < pieces)
            let content = try await client.readUntilClosed()
            #expect(content.count == pieces * size)
            #expect(
                (0..<pieces).allSatisfy { content[$0 * size] == UInt8($0) && content[($0 + 1) * size - 1] == UInt8($0) }
            )
            #expect(made.load(ordering: .relaxed) == pieces)
            await client.close()
        }
    }

    @Test("A reader that takes nothing is disconnected after the write timeout, and the write throws")
    func slowReader() async throws {
        let hasEnded = Atomic(false)
        let made = Atomic(0)
        let handler = Self.streaming { writer in
            defer { hasEnded.store(true, ordering: .relaxed) }
            while true {
                made.add(1, ordering: .relaxed)
                try await writer.write([UInt8](repeating: 0x61, count: 256 * 1024))
            }
        }
        var timeouts = ServerTimeouts()
        timeouts.write = .milliseconds(200)
        try await LiveServer.run(timeouts: timeouts, handler: handler) { live in
            let client = try await live.connect(receiveBufferBytes: 4096)
            try await client.send(Self.request)
            try await until { hasEnded.load(ordering: .relaxed) }
            #expect(try await live.reachesConnectionCount(0))
            #expect(made.load(ordering: .relaxed) < 128, "what the sockets hold, and no more")
            await client.close()
        }
    }

    @Test("Of two concurrent writes one throws, and the other arrives complete")
    func twoAtOnce() async throws {
        let refusals = Atomic(0)
        let size = 16 << 20
        let handler = Self.streaming { writer in
            // More than the sockets buffer, so that the first write waits for the reader.
            let content = [UInt8](repeating: 0x61, count: size)
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<2 { group.addTask { (try? await writer.write(content)) != nil } }
                for await isWritten in group where !isWritten { refusals.add(1, ordering: .relaxed) }
            }
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 65536)
            try await client.send(wire("GET /stream HTTP/1.0\r\nHost: a\r\n\r\n"))
            _ = try await client.readUntil("\r\n\r\n")
            try await until { refusals.load(ordering: .relaxed) == 1 }
            #expect(try await client.readUntilClosed().count == size)
            #expect(refusals.load(ordering: .relaxed) == 1)
            await client.close()
        }
    }

    @Test("A silent stream is not cut by the write timeout")
    func quiet() async throws {
        let gate = Gate()
        let handler = Self.streaming { writer in
            try await writer.write(Array("first".utf8))
            await gate.pass()
            try await writer.write(Array("last".utf8))
        }
        var timeouts = ServerTimeouts()
        timeouts.write = .milliseconds(60)
        // It is the deadline of the first request, too.
        timeouts.idle = .seconds(2)
        try await LiveServer.run(timeouts: timeouts, handler: handler) { live in
            let client = try await live.connect(sending: String(decoding: Self.request, as: UTF8.self))
            _ = try await client.readUntil("first\r\n")
            // Waits until connections that begin now have been closed as idle, so that the stream's timeouts would have
            // passed, too.
            for _ in 0..<2 {
                let other = try await live.connect()
                _ = try await other.readUntilClosed()
            }
            gate.open()
            #expect(try await client.readUntil("0\r\n\r\n") == "4\r\nlast\r\n0\r\n\r\n")
            await client.close()
        }
    }

    @Test("The producer is cancelled when the reader goes")
    func readerGoes() async throws {
        let hasEnded = Atomic(false)
        let handler = Self.streaming { writer in
            defer { hasEnded.store(true, ordering: .relaxed) }
            try await writer.write(Array("first".utf8))
            // Waits for its cancellation.
            try await Task.sleep(for: .seconds(600))
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect()
            try await client.send(Self.request)
            _ = try await client.readUntil("first\r\n")
            await client.close()
            try await until { hasEnded.load(ordering: .relaxed) }
            #expect(try await live.reachesConnectionCount(0))
        }
    }

    @Test("Shutdown cancels the producer, which ends the stream properly")
    func drain() async throws {
        let handler = Self.streaming { writer in
            try await writer.write(Array("first".utf8))
            // Waits for its cancellation.
            try? await Task.sleep(for: .seconds(600))
            // The stream has ended.
            try? await writer.write(Array("more".utf8))
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect()
            try await client.send(Self.request)
            _ = try await client.readUntil("first\r\n")
            async let cut = live.server.shutdown(within: .seconds(60))
            let rest = String(decoding: try await client.readUntilClosed(), as: UTF8.self)
            #expect(rest == "0\r\n\r\n")
            await client.close()
            #expect(await cut == 0)
        }
    }

    @Test("A server that stops does not wait for a reader that takes nothing")
    func drainSlowReader() async throws {
        let isWriting = Gate()
        let handler = Self.streaming { writer in
            isWriting.open()
            try await writer.write([UInt8](repeating: 0x61, count: 16 << 20))
        }
        var timeouts = ServerTimeouts()
        timeouts.write = .seconds(600)
        try await LiveServer.run(timeouts: timeouts, handler: handler) { live in
            let client = try await live.connect(limit: .seconds(60), receiveBufferBytes: 4096)
            try await client.send(Self.request)
            _ = try await client.readUntil("\r\n\r\n")
            await isWriting.pass()
            #expect(await live.server.shutdown(within: .seconds(60)) == 0)
            await client.close()
        }
    }

    @Test("An incomplete stream ends without the last chunk")
    func cut() async throws {
        struct Failure: Error {}
        let handler = Self.streaming { writer in
            try await writer.write(Array("part".utf8))
            throw Failure()
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect()
            try await client.send(Self.request)
            let all = String(decoding: try await client.readUntilClosed(), as: UTF8.self)
            #expect(all.hasSuffix("\r\n\r\n4\r\npart\r\n"))
            await client.close()
        }
    }

    @Test("Streams are limited; one that ends makes room")
    func limit() async throws {
        let handler = Self.streaming { writer in
            try await writer.write(Array("first".utf8))
            // Waits for its cancellation.
            try await Task.sleep(for: .seconds(600))
        }
        var limits = ServerLimits()
        limits.streams = 2
        try await LiveServer.run(limits: limits, handler: handler) { live in
            var watching: [RawClient] = []
            for _ in 0..<2 {
                let client = try await live.connect()
                try await client.send(Self.request)
                _ = try await client.readUntil("first\r\n")
                watching.append(client)
            }
            #expect(live.server.statistics.streams == 2)
            let text = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            let refused = try await live.answers(to: text)
            #expect(refused.map(\.status) == [503, 200])
            #expect(refused.first?["retry-after"] == "30")
            #expect(live.server.statistics.streams == 2)
            await watching.removeFirst().close()
            try await until { live.server.statistics.streams == 1 }
            let next = try await live.connect()
            try await next.send(Self.request)
            _ = try await next.readUntil("first\r\n")
            for client in watching + [next] { await client.close() }
            try await until { live.server.statistics.streams == 0 }
        }
    }

    @Test("A stream that has ended makes room for the next request of its connection")
    func limitOfPipeline() async throws {
        let handler = Self.streaming { writer in try await writer.write(Array("first".utf8)) }
        var limits = ServerLimits()
        limits.streams = 1
        try await LiveServer.run(limits: limits, handler: handler) { live in
            let get = HTTPServerTests.request("GET /stream")
            let client = try await live.connect()
            try await client.send(get + get + HTTPServerTests.request("GET /stream", "Connection: close"))
            let said = String(decoding: try await client.readUntilClosed(), as: UTF8.self)
            #expect(said.split(separator: "5\r\nfirst\r\n0\r\n\r\n").count == 3)
            #expect(said.split(separator: "HTTP/1.1 200 ").count == 3)
        }
    }

    @Test("What wraps a handler, such as the log, gets the refusal of a stream that is too many")
    func limitIsSeen() async throws {
        let seen = Mutex<[Int]>([])
        let handler: Handler = { request in
            do {
                let response = try await Self.streaming { _ in }(request)
                seen.withLock { $0.append(response.status.code) }
                return response
            } catch let error as HTTPError {
                seen.withLock { $0.append(error.status.code) }
                throw error
            }
        }
        var limits = ServerLimits()
        limits.streams = 0
        try await LiveServer.run(limits: limits, handler: handler) { live in
            let head = HTTPServerTests.request("HEAD /stream")
            let text = head + HTTPServerTests.request("GET /stream", "Connection: close")
            let client = try await live.connect()
            try await client.send(text)
            let said = String(decoding: try await client.readUntilClosed(), as: UTF8.self)
            #expect(said.hasPrefix("HTTP/1.1 200 ") && said.contains("HTTP/1.1 503 "))
            #expect(seen.withLock { $0 } == [200, 503])
        }
    }

    @Test("Streams work over TLS")
    func overTLS() async throws {
        let gate = Gate()
        let handler = Self.streaming { writer in
            try await writer.write(Array("first".utf8))
            await gate.pass()
            try await writer.write([UInt8](repeating: 0x61, count: 1 << 20))
        }
        try await TLSHarness.run(handler: handler) { harness in
            gate.open()
            let said = try await harness.python(
                """
                client = connect()
                client.sendall(request("/stream"))
                said = b""
                while not said.endswith(b"0\\r\\n\\r\\n"):
                    piece = client.recv(65536)
                    if not piece:
                        raise EOFError(said[:200])
                    said += piece
                client.sendall(request("/"))
                content = said.split(b"\\r\\n\\r\\n", 1)[1]
                print(content.startswith(b"5\\r\\nfirst\\r\\n100000\\r\\n"), content.count(b"a"), answer(client))
                """)
            #expect(said == "True 1048576 200 plain")
        }
    }

    @Test("A write after the end throws, also from another task")
    func late() async throws {
        let kept = Mutex<ResponseWriter?>(nil)
        let handler = Self.streaming { writer in kept.withLock { $0 = writer } }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect()
            try await client.send(Self.request)
            _ = try await client.readUntil("0\r\n\r\n")
            let writer = try #require(kept.withLock { $0 })
            await #expect(throws: ResponseWriter.Ended.self) { try await writer.write([1]) }
            await client.close()
        }
    }
}
