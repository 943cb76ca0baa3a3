import HTTPTypes
import Testing

@testable import HTTPServer

@Suite("Serialized responses")
struct ResponseSerializerTests {
    private let date = Array("Date: D\r\n".utf8)

    private func text(
        _ response: Response, method: HTTPRequest.Method = .get, minorVersion: Int = 1, closes: Bool = false
    ) -> String {
        var output: [UInt8] = []
        ResponseSerializer.append(
            response, for: .init(method: method, minorVersion: minorVersion, closes: closes), date: date, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test("Head and content are one message")
    func whole() {
        let response = Response(status: .ok, contentType: "text/plain", text: "hello")
        #expect(
            text(response)
                == "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello")
    }

    @Test(
        "The longest lines of the server's own fit, after what was written before", arguments: [0, 1], [false, true])
    func fits(_ minorVersion: Int, _ closes: Bool) {
        let response = Response(
            status: .init(code: 599, reasonPhrase: ""), headers: [.server: "é€😀", .allow: ""],
            body: [UInt8](repeating: UInt8(ascii: "x"), count: 1_000_000))
        var output = Array("before".utf8)
        ResponseSerializer.append(
            response, for: .init(method: .get, minorVersion: minorVersion, closes: closes), date: date, to: &output)
        #expect(output.starts(with: Array("beforeHTTP/1.1 599 \r\n".utf8)))
        #expect(output.suffix(1_000_004).starts(with: Array("\r\n\r\nx".utf8)))
    }

    @Test("The request's id follows the date")
    func requestID() {
        var response = Response(status: .notFound, headers: [.allow: "GET"])
        response.requestID = "k-1"
        #expect(
            text(response)
                == "HTTP/1.1 404 Not Found\r\nDate: D\r\nX-Request-Id: k-1\r\nAllow: GET\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("Empty content has Content-Length 0")
    func empty() {
        #expect(text(Response(status: .notFound)) == "HTTP/1.1 404 Not Found\r\nDate: D\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("HEAD gets the length and not the content (RFC 9110 section 9.3.2)")
    func head() {
        let response = Response(status: .ok, headers: [:], body: Array("hello".utf8))
        #expect(text(response, method: .head) == "HTTP/1.1 200 OK\r\nDate: D\r\nContent-Length: 5\r\n\r\n")
    }

    @Test("204 and 304 have neither content nor length (RFC 9110 section 8.6)", arguments: [204, 304])
    func noContent(_ code: Int) {
        let response = Response(status: .init(code: code), headers: [:], body: Array("hello".utf8))
        let text = text(response)
        #expect(!text.lowercased().contains("content-length"))
        #expect(text.hasSuffix("Date: D\r\n\r\n"))
    }

    @Test(
        "The end of the connection is announced",
        arguments: [(1, true, "close"), (1, false, nil), (0, true, "close"), (0, false, "keep-alive")]
            as [(Int, Bool, String?)])
    func connection(_ minorVersion: Int, _ closes: Bool, _ expected: String?) {
        let text = text(Response(status: .ok), minorVersion: minorVersion, closes: closes)
        #expect(text.contains("Connection: ") == (expected != nil))
        if let expected { #expect(text.contains("\r\nConnection: \(expected)\r\n")) }
    }

    @Test("A handler cannot write the fields that frame the message")
    func ours() throws {
        let headers: HTTPFields = [
            .contentLength: "99", .connection: "upgrade", .transferEncoding: "chunked", .date: "never", .server: "x",
            .xContentTypeOptions: "sniff",
        ]
        #expect(
            text(Response(status: .ok, headers: headers, body: [65]))
                == "HTTP/1.1 200 OK\r\nDate: D\r\nServer: x\r\nContent-Length: 1\r\n\r\nA")
    }

    @Test("A field cannot split the response")
    func splitting() throws {
        var response = Response(status: .init(code: 200, reasonPhrase: "OK\r\nX-Split: 1"))
        response.headers[.location] = "/\r\nX-Split: 1\r\n\r\nHTTP/1.1 200 OK"
        let lines = text(response).split(separator: "\r\n")
        #expect(!lines.contains { $0.hasPrefix("X-Split") })
        #expect(lines.count { $0.hasPrefix("HTTP/1.1") } == 1)
    }

    @Test("Repeated fields stay separate")
    func repeated() throws {
        var response = Response(status: .ok)
        response.headers.append(.init(name: .setCookie, value: "a=1"))
        response.headers.append(.init(name: .setCookie, value: "b=2"))
        #expect(text(response).contains("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n"))
    }
}
