import OutboundHTTP
import Primitives
import TestSupport
import Testing

struct ExchangeTests {
    @Test("A GET and its response arrive complete")
    func get() async throws {
        let fields = ["Content-Type: application/json", "Cache-Control: max-age=9", "Date: now", "Retry-After: 3"]
        try await withPeer { connection in
            connection.readRequest()
            connection.answer("404 Not Found", fields, body: Array("{}".utf8))
        } _: { peer in
            let response = try await withClient { try await $0.send(.get(peer.url("/a/../b?c=d"))) }
            #expect(response.status == 404)
            #expect(response.contentType == "application/json")
            #expect(response.cacheControl == "max-age=9")
            #expect(response.date == "now")
            #expect(response.retryAfter == "3")
            #expect(response.body == Array("{}".utf8))
            let request = try #require(peer.requests.first)
            #expect(request.startLine == "GET /a/../b?c=d HTTP/1.1")
            #expect(request.fields["user-agent"] == "latchkey/1")
            #expect(request.fields["host"] == "127.0.0.1:\(peer.port)")
            #expect(request.fields["cookie"] == nil)
        }
    }

    @Test(
        "A POST sends its fields and its body unchanged, without Expect: 100-continue",
        arguments: [0, 1, 200, 2_000_000])
    func post(size: Int) async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            var request = try OutboundRequest.post(peer.url("/token"), body: String(repeating: "x", count: size))
            request.headers = [("Content-Type", "text/plain"), ("X-Empty", ""), ("Authorization", "Basic abc")]
            let response = try await withClient { [request] in try await $0.send(request) }
            #expect(response.status == 200)
            let received = try #require(peer.requests.first)
            #expect(received.startLine == "POST /token HTTP/1.1")
            #expect(received.body == request.body)
            #expect(received.fields["content-type"] == "text/plain")
            #expect(received.fields["x-empty"] == "")
            #expect(received.fields["authorization"] == "Basic abc")
            #expect(received.fields["expect"] == nil)
        }
    }

    @Test("Sequential requests share a connection, and no content of one gets into the next")
    func keepAlive() async throws {
        try await withPeer { connection in
            while let request = connection.readRequest() {
                let type = request.fields["x-type"].map { ["Content-Type: \($0)"] } ?? []
                connection.answer("200 OK", type, body: request.body)
            }
        } _: { peer in
            try await withClient { client in
                for number in 0..<20 {
                    var request = try OutboundRequest.post(peer.url("/\(number)"), body: "body \(number)")
                    if number.isMultiple(of: 3) { request = try .get(peer.url("/\(number)")) }
                    request.headers = number.isMultiple(of: 2) ? [("X-Type", "t/\(number)")] : []
                    let response = try await client.send(request)
                    #expect(response.body == request.body)
                    #expect(response.contentType == (number.isMultiple(of: 2) ? "t/\(number)" : nil))
                }
            }
            #expect(peer.connectionCount == 1)
            #expect(peer.requests.map(\.startLine).contains("GET /3 HTTP/1.1"))
        }
    }

    @Test("Many concurrent requests get their own responses")
    func concurrent() async throws {
        try await withPeer { connection in
            while let request = connection.readRequest() { connection.answer(body: request.body) }
        } _: { peer in
            try await withClient { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<200 {
                        let request = try OutboundRequest.post(peer.url(), body: "\(number)")
                        group.addTask {
                            let response = try await client.send(request)
                            #expect(response.body == request.body)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(peer.connectionCount <= 64)
        }
    }

    @Test("A compressed response is delivered decompressed")
    func gzip() async throws {
        // "{}" as gzip, in a stored block.
        let compressed: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 0, 0xFD, 0xFF, 0x7B, 0x7D, 0x43, 0xBF, 0xA6, 0xA3, 2, 0, 0, 0,
        ]
        try await withPeer { connection in
            connection.readRequest()
            connection.answer("200 OK", ["Content-Encoding: gzip"], body: compressed)
        } _: { peer in
            let response = try await withClient { try await $0.send(.get(peer.url())) }
            #expect(response.body == Array("{}".utf8))
            #expect(peer.requests.first?.fields["accept-encoding"] == "gzip")
        }
    }

    @Test("A redirect is a response and is not followed", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { canary in
            let location = "Location: \(canary.url())"
            try await withPeer { connection in
                while connection.readRequest() != nil { connection.answer("\(status) Elsewhere", [location]) }
            } _: { peer in
                try await withClient { client in
                    for request in [try OutboundRequest.post(peer.url()), try .get(peer.url())] {
                        let response = try await client.send(request)
                        #expect(response.status == status)
                    }
                }
                #expect(peer.requests.count == 2)
                #expect(canary.connectionCount == 0)
            }
        }
    }

    @Test("A body of exactly the limit is accepted")
    func exactLimit() async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer(body: Array(repeating: 120, count: 1000))
        } _: { peer in
            let response = try await withClient { try await $0.send(.get(peer.url(), maximumBodyBytes: 1000)) }
            #expect(response.body.count == 1000)
        }
    }

    @Test(
        "A header field that contains a line end is refused before anything is sent",
        arguments: [
            ("X", "a\r\nInjected: yes"), ("X", "a\nb"), ("X", "a\0b"), ("X\r\nY", "a"), ("X: Y", "a"), ("", "a"),
        ])
    func fieldInjection(_ field: (String, String)) async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            try await withClient { client in
                var request = try OutboundRequest.post(peer.url())
                request.headers = [(field.0, field.1)]
                let error = await client.failure(request)
                #expect(error?.code == .malformed)
                #expect(error?.mayHaveBeenSent == false)
                // The client is as good as before.
                #expect(try await client.send(.get(peer.url())).status == 200)
            }
            #expect(peer.requests.count == 1)
        }
    }
}
