import OutboundHTTP
import Primitives
import TestSupport
import Testing

struct SingleSendingTests {
    enum End: CaseIterable { case close, reset }

    @Test(
        "A request on a reused connection that ends without a response is not sent again",
        arguments: End.allCases, [OutboundRequest.Method.post, .get])
    func notTwice(end: End, method: OutboundRequest.Method) async throws {
        try await withPeer { connection in
            while let request = connection.readRequest() {
                if connection.number == 1, request.startLine.contains("/second") {
                    if end == .reset { connection.reset() }
                    return
                }
                connection.answer()
            }
        } _: { peer in
            try await withClient { client in
                #expect(try await client.send(.get(peer.url("/first"))).status == 200)
                var request = try OutboundRequest.post(peer.url("/second"))
                request.method = method
                let error = await client.failure(request)
                #expect(error?.code == .closed)
                #expect(error?.mayHaveBeenSent == true)
                #expect(peer.requests.count { $0.startLine.contains("/second") } == 1)
                #expect(try await client.send(.post(peer.url("/third"))).status == 200)
            }
            #expect(peer.requests.map(\.startLine.count).count == 3)
        }
    }

    @Test("A kept connection that was closed is noticed, and the request is sent on a new one")
    func staleConnection() async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            try await withClient { client in
                for number in 1...3 {
                    let response = try await client.send(.post(peer.url("/\(number)")))
                    #expect(response.status == 200)
                    while peer.openConnectionCount > 0 { await Task.yield() }
                }
            }
            #expect(peer.connectionCount == 3)
            #expect(peer.requests.count == 3)
        }
    }
}
