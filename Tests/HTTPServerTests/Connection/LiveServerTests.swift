import HTTPServer
import HTTPTypes
import Logging
import Primitives
import Synchronization
import TestSupport
import Testing

/// Behaviour that only sockets show. The server has short deadlines; the tests wait up to half a minute.
@Suite("A server on sockets", .serialized)
struct LiveServerTests {
    // MARK: Responses

    @Test("A connection serves several requests, in HTTP/1.1 and with keep-alive in HTTP/1.0")
    func keepAlive() async throws {
        try await LiveServer.run { live in
            let client = try await live.connect()
            for number in 0..<5 {
                try await client.send(request("GET /\(number)"))
                let response = try await client.readResponse()
                #expect(response.status == 200)
                #expect(response.text == "GET /\(number) ")
                #expect(response["connection"] == nil)
                #expect(response["date"]?.hasSuffix(" GMT") == true)
            }
            try await client.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try await client.readResponse()["connection"] == "keep-alive")
            try await client.send("GET /last HTTP/1.0\r\n\r\n")
            let last = try await client.readResponse()
            #expect(last["connection"] == "close")
            #expect(try await client.readUntilClosed() == [])
        }
    }

    @Test("Requests may arrive byte by byte")
    func bytewise() async throws {
        try await LiveServer.run { live in
            let text =
                request("POST /a", "Content-Length: 5", then: "hello")
                + request("POST /b", "Transfer-Encoding: chunked", then: "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")
                + request("GET /c", "Connection: close")
            let answers = try await live.answers(to: text, inPiecesOf: 1)
            #expect(answers.map(\.text) == ["POST /a hello", "POST /b hello", "GET /c "])
        }
    }

    @Test("A thousand pipelined requests get their responses in order")
    func pipelining() async throws {
        try await LiveServer.run { live in
            let requests = (0..<999).map { request("GET /\($0)") }.joined()
            let answers = try await live.answers(to: requests + request("GET /last", "Connection: close"))
            #expect(answers.map(\.text) == (0..<999).map { "GET /\($0) " } + ["GET /last "])
        }
    }

    @Test("Pipelined requests with suspending handlers get their responses in order")
    func pipelinedWaiting() async throws {
        let handler: Handler = { request in
            await Task.yield()
            return try await LiveServer.echo(request)
        }
        try await LiveServer.run(handler: handler) { live in
            let requests = (0..<99).map { request("GET /\($0)") }.joined()
            let answers = try await live.answers(to: requests + request("GET /last", "Connection: close"))
            #expect(answers.map(\.text) == (0..<99).map { "GET /\($0) " } + ["GET /last "])
        }
    }

    @Test("Expect: 100-continue gets 100 Continue")
    func expectation() async throws {
        try await LiveServer.run { live in
            let client = try await live.connect()
            for framing in ["Content-Length: 5", "Transfer-Encoding: chunked"] {
                try await client.send(request("POST /", "Expect: 100-continue", framing))
                let interim = try await client.readResponse()
                #expect(interim.status == 100)
                #expect(interim.fields == [])
                try await client.send(framing.hasPrefix("C") ? "hello" : "5\r\nhello\r\n0\r\n\r\n")
                #expect(try await client.readResponse().text == "POST / hello")
            }
        }
    }

    @Test("HEAD, OPTIONS, unknown paths and unknown methods follow RFC 9110")
    func methods() async throws {
        var router = Router()
        router.get("/a", LiveServer.echo)
        router.post("/b/{c}", LiveServer.echo)
        let routes = router
        try await LiveServer.run(handler: { try await routes.respond(to: $0) }) { live in
            let client = try await live.connect()
            try await client.send(request("HEAD /a"))
            let head = try await client.readResponse(toHead: true)
            #expect(head.status == 200)
            #expect(head["content-length"] == "8")
            try await client.send(
                request("OPTIONS *") + request("OPTIONS /b/x") + request("GET /none") + request("PUT /a"))
            #expect(try await client.readResponse().status == 204)
            let options = try await client.readResponse()
            #expect(options.status == 204)
            #expect(options["allow"] == "OPTIONS, POST")
            #expect(options["content-length"] == nil)
            #expect(try await client.readResponse().status == 404)
            let refused = try await client.readResponse()
            #expect(refused.status == 405)
            #expect(refused["allow"] == "GET, HEAD, OPTIONS")
            try await client.send(request("HEAD /none") + request("GET /a"))
            #expect(try await client.readResponse(toHead: true).status == 404)
            #expect(try await client.readResponse().status == 200)
        }
    }

    @Test("An unexpected error of a handler is 500 and reveals nothing")
    func handlerError() async throws {
        struct Leak: Error, CustomStringConvertible { let description = "the secret is 4711" }
        let handler: Handler = { request in
            if request.path == "/fail" { throw Leak() }
            throw HTTPError(.conflict, code: "taken", message: "It is taken.", headers: [.retryAfter: "7"])
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect()
            try await client.send(request("GET /fail"))
            let failed = try await client.readResponse()
            #expect(failed.status == 500)
            #expect(!failed.text.contains("4711") && !failed.text.contains("Leak"))
            try await client.send(request("GET /"))
            let thrown = try await client.readResponse()
            #expect(thrown.status == 409)
            #expect(thrown["retry-after"] == "7")
            #expect(thrown.text == "It is taken.\n")
        }
    }

    @Test("A handler responds at once, or gives a task what it has to wait for")
    func immediateHandler() async throws {
        let handler: ImmediateHandler = { request in
            switch request.path {
            case "/now": return .value(Response(status: .ok, contentType: "text/plain", text: "now"))
            case "/refused": throw HTTPError(.conflict, code: "taken", message: "It is taken.")
            default:
                return .task {
                    await Task.yield()
                    if request.path == "/failed" { throw HTTPError(.conflict, code: "taken", message: "It was taken.") }
                    return Response(status: .ok, contentType: "text/plain", text: "later")
                }
            }
        }
        try await LiveServer.run(immediateHandler: handler) { live in
            let paths = ["/now", "/later", "/refused", "/now", "/failed", "/later"]
            let client = try await live.connect()
            // All at once: the responses come in the order of the requests.
            try await client.send(paths.map { request("GET \($0)") }.joined())
            let expected = ["now", "later", "It is taken.\n", "now", "It was taken.\n", "later"]
            for text in expected { #expect(try await client.readResponse().text == text) }
        }
    }

    @Test("The error renderer gets the error, and the request if it could be read")
    func errorRenderer() async throws {
        let renderer: ErrorRenderer = { error, request in
            Response(status: error.status, contentType: "text/x", text: "\(error.code) \(request?.path ?? "-")")
        }
        let handler: Handler = { _ in throw HTTPError(.conflict, code: "taken", message: "") }
        try await LiveServer.run(errorRenderer: renderer, handler: handler) { live in
            let answers = try await live.answers(to: request("GET /a") + "GET / HTTP/1.1\r\n\r\n")
            #expect(answers.map(\.text) == ["taken /a", "invalid_request -"])
            #expect(answers.map(\.status) == [409, 400])
        }
    }

    // MARK: Limits

    private static var smallLimits: ServerLimits {
        var limits = ServerLimits()
        limits.requestLineBytes = 100
        limits.headerBytes = 200
        limits.headerFields = 4
        limits.bodyBytes = 10
        return limits
    }

    @Test(
        "Each limit has its own response, and ends the connection",
        arguments: [
            (request("GET /" + String(repeating: "a", count: 100)), 414),
            (request("GET /", "X: " + String(repeating: "a", count: 200)), 431),
            (request("GET /", "A: a", "B: b", "C: c", "D: d"), 431),
            (request("POST /", "Content-Length: 11", then: "hello hello"), 413),
            (request("POST /", "Transfer-Encoding: chunked", then: "6\r\nhello \r\n5\r\nhello\r\n0\r\n\r\n"), 413),
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505),
            ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
            (request("POST /", "Content-Length: 2", "Expect: x"), 417),
        ])
    func limits(_ text: String, _ status: Int) async throws {
        try await LiveServer.run(limits: LiveServerTests.smallLimits) { live in
            let answers = try await live.answers(to: request("GET /first") + text + RefusedRequest.smuggled)
            #expect(answers.map(\.status) == [200, status])
            #expect(answers.last?["connection"] == "close")
            #expect(answers.last?["content-length"] != "0")
        }
    }

    @Test("A refusal reaches a client that is still sending")
    func refusalWhileSending() async throws {
        try await LiveServer.run(limits: LiveServerTests.smallLimits) { live in
            let client = try await live.connect()
            try await client.send(
                wire(request("POST /", "Content-Length: 800000")) + [UInt8](repeating: 65, count: 800_000))
            let answers = try RawClient.Response.parseAll(await client.readUntilClosed())
            #expect(answers.map(\.status) == [413])
        }
    }

    @Test("The last request of a connection gets Connection: close")
    func requestsPerConnection() async throws {
        var limits = ServerLimits()
        limits.requestsPerConnection = 3
        try await LiveServer.run(limits: limits) { live in
            let answers = try await live.answers(to: String(repeating: request("GET /"), count: 5))
            #expect(answers.map { $0["connection"] } == [nil, nil, "close"])
        }
    }

    @Test(
        "Connections beyond the limit get a response",
        arguments: [(1, nil, 503), (10, 1, 429)] as [(Int, Int?, Int)])
    func connections(_ total: Int, _ perAddress: Int?, _ status: Int) async throws {
        var limits = ServerLimits()
        limits.connections = total
        limits.connectionsPerAddress = perAddress
        limits.patience = .seconds(60)
        try await LiveServer.run(limits: limits) { live in
            let first = try await live.connect()
            try await first.send(request("GET /"))
            #expect(try await first.readResponse().status == 200)
            let second = try await live.connect()
            try await second.send(request("GET /"))
            let refusal = try await second.readResponse()
            #expect(refusal.status == status)
            #expect(refusal["retry-after"] != nil)
            #expect(refusal["connection"] == "close")
            #expect(try await second.readUntilClosed() == [])
            await second.close()
            #expect(try await live.reachesConnectionCount(1))
            try await first.send(request("GET /"))
            #expect(try await first.readResponse().status == 200)
            await first.close()
            #expect(try await live.reachesConnectionCount(0))
            #expect(try await live.answers(to: request("GET /", "Connection: close")).map(\.status) == [200])
        }
    }

    // MARK: Deadlines

    @Test(
        "A client that drips bytes is disconnected",
        arguments: [
            ("", "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 2000)),
            ("GET / HTTP/1.1\r\n", String(repeating: "A: b\r\n", count: 90)),
            (request("POST /", "Content-Length: 2000"), String(repeating: "a", count: 2000)),
            (request("POST /", "Transfer-Encoding: chunked"), String(repeating: "1\r\na\r\n", count: 500)),
        ])
    func dripping(_ first: String, _ rest: String) async throws {
        var timeouts = ServerTimeouts()
        // Long enough for the first piece of a client that the machine lets wait.
        timeouts.header = .seconds(2)
        timeouts.body = .seconds(2)
        try await LiveServer.run(timeouts: timeouts) { live in
            let client = try await live.connect(sending: first)
            try await client.drip(wire(rest), every: .milliseconds(20))
            let answer = try await client.readResponse()
            #expect(answer.status == 408)
            #expect(answer["connection"] == "close")
            #expect(await client.isCutOff())
        }
    }

    @Test("A silent client is disconnected", arguments: ["", request("GET /")])
    func silent(_ first: String) async throws {
        var timeouts = ServerTimeouts()
        // It is the deadline of the first request, too.
        timeouts.idle = .seconds(2)
        try await LiveServer.run(timeouts: timeouts) { live in
            let client = try await live.connect(sending: first)
            let answers = try RawClient.Response.parseAll(await client.readUntilClosed())
            #expect(answers.map(\.status) == (first.isEmpty ? [] : [200]))
        }
    }

    // MARK: Large responses

    /// Larger than the buffers of a socket.
    private static let largeBody: [UInt8] = {
        var body = (0..<251).map { UInt8($0) }
        while body.count < 6 << 20 { body += body }
        return body
    }()

    @Test("A slow reader holds back the next request, and gets every byte")
    func slowReader() async throws {
        let handled = Mutex(0)
        let handler: Handler = { _ in
            handled.withLock { $0 += 1 }
            return Response(status: .ok, headers: [:], body: LiveServerTests.largeBody)
        }
        try await LiveServer.run(handler: handler) { live in
            let client = try await live.connect(limit: .seconds(30), receiveBufferBytes: 16 * 1024)
            try await client.send(request("GET /a") + request("GET /b", "Connection: close"))
            try await client.waitForBytes(1000)
            #expect(handled.withLock { $0 } == 1)
            #expect(try await client.readResponse().body == LiveServerTests.largeBody)
            #expect(try await client.readResponse().body == LiveServerTests.largeBody)
            #expect(try await client.readUntilClosed() == [])
        }
    }

    @Test("A reader that stops is disconnected")
    func stalledReader() async throws {
        var timeouts = ServerTimeouts()
        timeouts.write = .milliseconds(300)
        let handler: Handler = { _ in Response(status: .ok, headers: [:], body: LiveServerTests.largeBody) }
        try await LiveServer.run(timeouts: timeouts, handler: handler) { live in
            let client = try await live.connect(receiveBufferBytes: 16 * 1024)
            try await client.send(request("GET /"))
            try await client.waitForBytes(1000)
            #expect(try await live.reachesConnectionCount(0))
            await client.close()
        }
    }
}
