import Foundation
import OutboundHTTP
import Primitives
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

    @Test("Https goes through a tunnel, in which the server's certificate is verified")
    func tunnel() async throws {
        let certificates = try await IssuedCertificates.make([.server])
        let peer = try await TLSPeer(certificate: certificates.certificate(.server), key: certificates.key(.server))
        defer { peer.stop() }
        // "user:p:ss word" in base64.
        let proxy = try await TunnelProxy(authorization: "Basic dXNlcjpwOnNzIHdvcmQ=")
        defer { proxy.stop() }
        func client(
            _ user: String, _ bundle: String?, _ work: (OutboundHTTPClient) async throws -> Void
        ) async throws {
            try await withClient {
                $0.proxy = "http://\(user)127.0.0.1:\(proxy.port)/"
                $0.caBundle = bundle
                $0.addressPolicy = .publicOnly
                $0.inspectsCertificates = true
            } _: {
                try await work($0)
            }
        }
        try await client("user:p%3Ass%20word@", certificates.authority) { client in
            for body in ["one", "two"] {
                try await client.expect(.post(peer.url(), body: body), Array(body.utf8))
            }
        }
        try await client("user:p%3Ass%20word@", nil) { client in
            let error = await client.failure(try .post(peer.url()))
            #expect(error?.code == .tls)
            #expect(error?.mayHaveBeenSent == false)
        }
        try await client("user:wrong@", certificates.authority) { client in
            let error = await client.failure(try .post(peer.url()))
            #expect(error?.code == .unreachable)
            #expect(error?.mayHaveBeenSent == false)
            #expect(error?.reason == "127.0.0.1: the proxy answers with status 407")
        }
    }

    @Test(
        "A proxy that makes no tunnel fails the request before it is sent",
        arguments: [
            ("", OutboundError.Code.unreachable), ("HTTP/1.1 200", .unreachable), ("220 mail\r\n", .unreachable),
            ("HTTP/1.1 502 Bad Gateway\r\n", .unreachable), ("HTTP/1.1 302 Found\r\n\r\n", .unreachable),
            ("HTTP/1.1 407 No\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbomb", .unreachable),
            ("HTTP/1.1 200 OK\r\n\r\n", .tls), ("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", .tls),
        ])
    func noTunnel(answer: String, code: OutboundError.Code) async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.send(answer)
        } _: { proxy in
            try await withClient {
                $0.proxy = proxy.url("")
            } _: { client in
                let error = await client.failure(try .post("https://carrier.example/token?code=s3cret"))
                #expect(error?.code == code, "\(error?.reason ?? "answered")")
                #expect(error?.mayHaveBeenSent == false)
                #expect(error?.reason.contains("s3cret") == false)
                #expect(error?.reason.contains("status 407") == answer.contains("407"))
            }
            let request = try #require(proxy.requests.first)
            #expect(request.startLine == "CONNECT carrier.example:443 HTTP/1.1")
            #expect(request.fields["x-token"] == nil)
        }
    }

    @Test(
        "A proxy of another kind is refused at the start",
        arguments: [
            "https://proxy.example:3128", "socks5://proxy.example", "socks5h://proxy.example:1", "proxy.example:3128",
            "http://", "http://proxy.example/path", "http://proxy.example:0", "http://proxy.example:65536",
            "http://pro xy.example", "http://a:%zz@proxy.example", "http://proxy.example?x",
        ])
    func refused(proxy: String) {
        var configuration = OutboundHTTPConfiguration()
        configuration.proxy = proxy
        #expect(throws: OutboundHTTPStartError.self) { try OutboundHTTPClient(configuration) }
    }

    @Test(
        "A proxy's port and credentials are optional",
        arguments: [
            "http://proxy.example", "http://proxy.example/", "HTTP://proxy.example:3128", "http://[::1]:3128",
            "http://[::1]", "http://a@proxy.example", "http://a:b@proxy.example:80/",
        ])
    func accepted(proxy: String) throws {
        var configuration = OutboundHTTPConfiguration()
        configuration.proxy = proxy
        _ = try OutboundHTTPClient(configuration)
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
