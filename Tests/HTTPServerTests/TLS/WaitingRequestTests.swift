import HTTPTypes
import Primitives
import TestSupport
import Testing

@testable import HTTPServer

@Suite("A request that is in the socket when the server stops, and that the poller has not reported")
struct WaitingRequestTests {
    @Test("is served as the last one", arguments: [false, true])
    func isServed(hasTLS: Bool) async throws {
        let directory = try TemporaryDirectory(files: ["ca.pem": TLSTexts.authority])
        let authorities = hasTLS ? directory.file("ca.pem") : nil
        let loop = try ServerLoop.forTest()
        let tls = hasTLS ? try ServerTLS(TLSHarness.credentials()) : nil
        let service = ConnectionService.forTest(tls: tls) { request in
            .value(Response(status: .ok, contentType: "text/plain", text: request.path))
        }
        // The request and the end of the server are one piece of work: the poller reports nothing in between.
        let ends = try await loop.turn {
            let ends = try ConnectionEnds(on: loop, service, authorities: authorities)
            try ends.send(request("GET /waiting"))
            ends.connection.drain()
            return ends
        }
        let said = try await loop.turn {
            defer { ends.close() }
            return ends.receive()
        }
        #expect(said.hasPrefix("HTTP/1.1 200 OK\r\n") && said.hasSuffix("\r\n\r\n/waiting"))
        #expect(said.contains("\r\nConnection: close\r\n"))
    }
}
