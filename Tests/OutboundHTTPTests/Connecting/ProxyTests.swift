import Foundation
import OpenIDConnect
import OutboundHTTP
import TestSupport
import Testing

struct ProxyTests {
    @Test("A configured proxy gets all requests, at whatever address it is")
    func configured() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { proxy in
            try await withClient {
                $0.proxy = proxy.url("")
                $0.addressPolicy = .publicOnly
            } _: { client in
                let response = try await client.send(.post("http://127.0.0.1:1/token"))
                #expect(response.status == 200)
            }
            #expect(proxy.requests.first?.startLine == "POST http://127.0.0.1:1/token HTTP/1.1")
        }
    }

    // In a process of its own, whose environment may be changed.
    @Test("A proxy in the environment is not used")
    func environment() async {
        await #expect(processExitsWith: .success) {
            let proxy = try RawHTTPPeer { $0.hold() }
            for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
                setenv(name, proxy.url(""), 1)
            }
            try await withPeer { connection in
                connection.readRequest()
                connection.answer()
            } _: { peer in
                let response = try await withClient { try await $0.send(.post(peer.url("/token"))) }
                #expect(response.status == 200)
                #expect(peer.requests.first?.startLine == "POST /token HTTP/1.1")
            }
            #expect(proxy.connectionCount == 0)
        }
    }
}
