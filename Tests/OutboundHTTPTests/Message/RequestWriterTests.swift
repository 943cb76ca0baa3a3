import Foundation
import OutboundHTTP
import Primitives
import Testing

struct RequestWriterTests {
    private let writer = RequestWriter(userAgent: "agent/1", proxyAuthorization: "Basic eDp5")

    @Test(
        "The target and the host are those of the URL",
        arguments: [
            ("https://example.com", "GET / HTTP/1.1", "example.com"),
            ("https://Example.com/a/../b?c=%20d", "GET /a/../b?c=%20d HTTP/1.1", "example.com"),
            ("https://example.com?q", "GET /?q HTTP/1.1", "example.com"),
            ("https://example.com:443/", "GET / HTTP/1.1", "example.com"),
            ("https://example.com:8443/", "GET / HTTP/1.1", "example.com:8443"),
            ("https://[::1]:8443/x", "GET /x HTTP/1.1", "[::1]:8443"),
            ("http://127.0.0.1/x", "GET /x HTTP/1.1", "127.0.0.1"),
            ("http://127.0.0.1:81/x", "GET /x HTTP/1.1", "127.0.0.1:81"),
        ])
    func target(url: String, line: String, host: String) throws {
        let lines = try lines(.init(method: .get, url: endpoint(url), timeout: .zero, maximumBodyBytes: 0))
        #expect(
            lines == [
                line, "Host: \(host)", "User-Agent: agent/1", "Accept: */*", "Accept-Encoding: gzip", "", "",
            ])
    }

    @Test("Fields and a body are unchanged, and replace the client's own")
    func fields() throws {
        let request = OutboundRequest(
            method: .post, url: try endpoint("https://example.com/t"),
            headers: [("accept", "a/b"), ("X-Empty", ""), ("User-Agent", "x")], body: Array("code=a".utf8),
            timeout: .zero, maximumBodyBytes: 0)
        #expect(
            try lines(request) == [
                "POST /t HTTP/1.1", "Host: example.com", "accept: a/b", "X-Empty: ", "User-Agent: x",
                "Accept-Encoding: gzip", "Content-Length: 6", "", "code=a",
            ])
    }

    @Test("A POST without content says so; a GET has none")
    func noContent() throws {
        var request = OutboundRequest(
            method: .post, url: try endpoint("https://example.com/t"), timeout: .zero, maximumBodyBytes: 0)
        #expect(try lines(request).contains("Content-Length: 0"))
        request.method = .get
        request.body = [1]
        #expect(try lines(request).suffix(3) == ["Accept-Encoding: gzip", "", ""])
    }

    @Test(
        "The array of a request does not grow while it is written: that would leave its secrets in memory",
        arguments: [
            (url: "https://example.com/" + String(repeating: "a", count: 900), field: 0, body: 0),
            (url: "https://example.com?code", field: 5000, body: 0), (url: "http://127.0.0.1", field: 0, body: 7000),
            (url: "https://[::1]:8443/", field: 3000, body: 3000),
        ])
    func place(url: String, field: Int, body: Int) throws {
        let request = OutboundRequest(
            method: .post, url: try endpoint(url),
            headers: [("Authorization", String(repeating: "s", count: field)), ("DPoP", "x")],
            body: [UInt8](repeating: 0x62, count: body), timeout: .zero, maximumBodyBytes: 0)
        for recipient in [RequestWriter.Recipient.server, .proxy] {
            let most = writer.mostBytes(of: request)
            var bytes: [UInt8] = []
            writer.append(request, to: recipient, &bytes)
            #expect(bytes.count <= most)
            // One that grows has room for twice as many.
            #expect(bytes.capacity < most + most / 2)
        }
    }

    @Test("A proxy gets the whole URL and its credentials, a server neither")
    func proxy() throws {
        let request = OutboundRequest(
            method: .get, url: try endpoint("http://localhost:81?a"), timeout: .zero, maximumBodyBytes: 0)
        let proxied = try lines(request, to: .proxy)
        #expect(proxied.prefix(2) == ["GET http://localhost:81/?a HTTP/1.1", "Host: localhost:81"])
        #expect(proxied.contains("Proxy-Authorization: Basic eDp5"))
        #expect(try !lines(request).contains { $0.hasPrefix("Proxy-Authorization") })
        var bytes: [UInt8] = []
        writer.appendConnect(to: try endpoint("https://[::1]/x"), &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n") == [
                "CONNECT [::1]:443 HTTP/1.1", "Host: [::1]:443", "User-Agent: agent/1",
                "Proxy-Authorization: Basic eDp5", "", "",
            ])
    }

    @Test(
        "Fields that add another field, or decide on the framing, are not legal",
        arguments: [
            ("X", "a\r\nInjected: yes"), ("X", "a\nb"), ("X", "a\0b"), ("X", "a\u{7F}"), ("X\r\nY", "a"), ("X: Y", "a"),
            ("", "a"), ("X ", "a"), ("é", "a"), ("Host", "a"), ("HOST", "a"), ("content-length", "1"),
            ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Expect", "100-continue"), ("Upgrade", "x"),
        ])
    func illegal(name: String, value: String) {
        #expect(!RequestWriter.isLegal([("Accept", "a/b"), (name, value)]))
    }

    @Test("Usual fields are legal")
    func legal() {
        #expect(
            RequestWriter.isLegal([
                ("Authorization", "Basic abc"), ("Content-Type", "text/plain; charset=\"a\"\t"), ("traceparent", ""),
                ("X-~!#$%&'*+-.^_`|1", "é"),
            ]))
    }

    private func lines(
        _ request: OutboundRequest, to recipient: RequestWriter.Recipient = .server
    ) throws -> [String] {
        var bytes: [UInt8] = []
        writer.append(request, to: recipient, &bytes)
        return String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
    }

    private func endpoint(_ url: String) throws -> EndpointURL {
        try #require(EndpointURL(url, policy: .allowLoopbackHTTP))
    }
}
