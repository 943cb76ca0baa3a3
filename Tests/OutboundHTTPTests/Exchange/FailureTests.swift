import OutboundHTTP
import Primitives
import TestSupport
import Testing

/// An answer that fails, and as what.
struct BadAnswer: Sendable, CustomTestStringConvertible {
    let name: String
    let code: OutboundError.Code
    let script: @Sendable (RawHTTPPeer.Connection) -> Void

    init(_ name: String, _ code: OutboundError.Code, _ script: @escaping @Sendable (RawHTTPPeer.Connection) -> Void) {
        self.name = name
        self.code = code
        self.script = script
    }

    /// A fixed text, then the end of the connection.
    init(_ name: String, _ code: OutboundError.Code, text: String) {
        self.init(name, code) { $0.send(text) }
    }

    var testDescription: String { name }
}

struct FailureTests {
    static let badAnswers = [
        BadAnswer("nothing at all", .closed, text: ""),
        BadAnswer("not HTTP", .malformed, text: "220 mail.example ESMTP\r\n"),
        BadAnswer("a body without a head (HTTP/0.9)", .malformed, text: "<html></html>"),
        BadAnswer("half a status line", .malformed, text: "HTTP/1.1 20"),
        BadAnswer("half a head", .malformed, text: "HTTP/1.1 200 OK\r\nContent-Type: a"),
        BadAnswer("an unknown version", .malformed, text: "HTTP/7.0 200 OK\r\n\r\n"),
        BadAnswer("a length that is no number", .malformed, text: "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nx"),
        BadAnswer("a negative length", .malformed, text: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"),
        BadAnswer("less than its length", .malformed, text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"),
        BadAnswer("half a chunk", .malformed, text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}"),
        BadAnswer(
            "no last chunk", .malformed, text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
        BadAnswer("a chunk size that is none", .malformed) {
            $0.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")
        },
        BadAnswer("gzip that is none", .malformed) { connection in
            connection.answer("200 OK", ["Content-Encoding: gzip"], body: Array("plain text, not gzip".utf8))
        },
        BadAnswer("a reset before the answer", .closed) { $0.reset() },
        BadAnswer("a reset in the body", .malformed) { connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}")
            connection.reset()
        },
        BadAnswer("an announced length over the limit", .tooLarge) { connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n")
            connection.hold()
        },
        BadAnswer("an endless body in chunks", .tooLarge) { connection in
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1000\r\n" + String(repeating: "x", count: 0x1000) + "\r\n"
            while connection.send(chunk) {}
        },
        BadAnswer("an endless body until the connection's end", .tooLarge) { connection in
            connection.send("HTTP/1.1 200 OK\r\n\r\n")
            while connection.send(String(repeating: "x", count: 0x1000)) {}
        },
        BadAnswer("a head of endlessly many fields", .tooLarge) { connection in
            connection.send("HTTP/1.1 200 OK\r\n")
            while connection.send("X-Field: something of some length\r\n") {}
        },
        BadAnswer("a field without end", .tooLarge) { connection in
            connection.send("HTTP/1.1 200 OK\r\nX-Field: ")
            while connection.send(String(repeating: "x", count: 0x1000)) {}
        },
        BadAnswer("interim answers without end", .tooLarge) { connection in
            while connection.send("HTTP/1.1 100 Continue\r\n\r\n") {}
        },
        BadAnswer("no answer in time", .timedOut) { $0.hold() },
        BadAnswer("a head that drips", .timedOut) { connection in
            connection.send("HTTP/1.1 200 OK\r\nX-Field: ")
            while !connection.waitForClose(milliseconds: 20), connection.send("x") {}
        },
        BadAnswer("a body that drips", .timedOut) { connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
            while !connection.waitForClose(milliseconds: 20), connection.send("x") {}
        },
    ]

    @Test(
        "A bad response fails with its own code, counts as sent, and its error repeats no content",
        arguments: badAnswers)
    func badAnswer(_ bad: BadAnswer) async throws {
        try await withPeer { connection in
            connection.readRequest()
            bad.script(connection)
        } _: { peer in
            try await withClient { client in
                // Also a slow machine has sent the request before it is over.
                let limit = Duration.seconds(bad.code == .timedOut ? 2 : 120)
                let started = ContinuousClock.now
                let error = await client.failure(try .post(peer.url("/token?code=s3cret"), timeout: limit))
                #expect(error?.code == bad.code, "\(error?.reason ?? "answered")")
                #expect(error?.mayHaveBeenSent == true)
                #expect(error?.reason.contains("s3cret") == false)
                #expect(error?.reason.hasPrefix("127.0.0.1: ") == true)
                #expect(ContinuousClock.now - started < .seconds(60))
            }
            try await until { peer.requests.count == 1 }
        }
    }

    /// How a peer fails an exchange, and the error's text for the operator's log.
    static let faults = [
        BadAnswer("closed without an answer", .closed, text: ""),
        BadAnswer("closed without an answer", .closed) { $0.reset() },
        BadAnswer(
            "the connection ended before the response was complete", .malformed, text: "HTTP/1.1 103 Early\r\n\r\n"),
        BadAnswer("the response is not HTTP/1", .malformed, text: "220 mail.example ESMTP\r\n"),
        BadAnswer("timed out after 2 s, without an answer", .timedOut) { $0.hold() },
        BadAnswer("timed out after 2 s, before the response was complete", .timedOut) { connection in
            connection.send("HTTP/1.1 200 OK\r\n")
            connection.hold()
        },
    ]

    @Test("The error says what happened to the exchange", arguments: faults)
    func fault(_ bad: BadAnswer) async throws {
        try await withPeer { connection in
            connection.readRequest()
            bad.script(connection)
        } _: { peer in
            try await withClient { client in
                let timeout = Duration.seconds(bad.code == .timedOut ? 2 : 60)
                let error = await client.failure(try .post(peer.url(), timeout: timeout))
                #expect(error?.code == bad.code)
                #expect(error?.fault == bad.name)
                #expect(error?.host == "127.0.0.1")
            }
        }
    }

    @Test("A gzip bomb is cut at the limit")
    func gzipBomb() async throws {
        let bomb = try await Tool.run(
            "python3", ["-c", "import gzip,sys; sys.stdout.buffer.write(gzip.compress(bytes(50_000_000)))"])
        #expect(bomb.count < 64 * 1024)
        try await withPeer { connection in
            connection.readRequest()
            connection.answer("200 OK", ["Content-Encoding: gzip"], body: bomb)
        } _: { peer in
            try await withClient { client in
                let error = await client.failure(try .get(peer.url()))
                #expect(error?.code == .tooLarge)
            }
        }
    }

    @Test("A closed port is unreachable, and nothing was sent")
    func refusedPort() async throws {
        let port = try ClosedPort()
        defer { withExtendedLifetime(port) {} }
        try await withClient { client in
            let error = await client.failure(try .post("http://127.0.0.1:\(port.number)/"))
            #expect(error?.code == .unreachable)
            #expect(error?.fault == "connection refused")
            #expect(error?.mayHaveBeenSent == false)
        }
    }

    @Test("A name without an address does not resolve")
    func unknownName() async throws {
        try await withClient(resolvedBy: Resolver { _ in [] }) { client in
            let error = await client.failure(try .post("https://carrier.example/token"))
            #expect(error?.code == .unreachable)
            #expect(error?.fault == "the name does not resolve")
            #expect(error?.mayHaveBeenSent == false)
        }
    }

    @Test("A hanging handshake is unreachable after the connect timeout, or timed out at the deadline")
    func silentHandshake() async throws {
        try await withPeer {
            $0.hold()
        } _: { peer in
            let url = "https://127.0.0.1:\(peer.port)/"
            try await withClient {
                $0.connectTimeout = .seconds(2)
            } _: { client in
                let error = await client.failure(try .post(url))
                #expect(error?.code == .unreachable)
                #expect(error?.fault == "timed out after 2 s, in the TLS handshake")
                #expect(error?.mayHaveBeenSent == false)
            }
            try await withClient { client in
                let error = await client.failure(try .post(url, timeout: .seconds(2)))
                #expect(error?.code == .timedOut)
                #expect(error?.fault == "timed out after 2 s, in the TLS handshake")
                #expect(error?.mayHaveBeenSent == false)
            }
        }
    }

    @Test("A timeout that is not positive ends the exchange at once", arguments: [Duration.zero, .seconds(-1)])
    func noTime(timeout: Duration) async throws {
        try await withPeer {
            $0.hold()
        } _: { peer in
            try await withClient { client in
                let error = await client.failure(try .post(peer.url(), timeout: timeout))
                #expect(error?.code == .timedOut)
                #expect(error?.mayHaveBeenSent == false)
            }
            #expect(peer.connectionCount == 0)
        }
    }
}
