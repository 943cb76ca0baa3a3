import OutboundHTTP
import Primitives
import Testing

/// A response that is accepted.
struct GoodResponse: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    var status = 200
    var body = ""
    /// Whether the connection must end for the response to be complete.
    var endsWithConnection = false
    var allowsReuse = true

    var testDescription: String { name }
}

/// A response that is refused.
struct BadResponse: Sendable, CustomTestStringConvertible {
    let name: String
    let fault: ResponseError
    let text: String

    init(_ name: String, _ fault: ResponseError, _ text: String) {
        (self.name, self.fault, self.text) = (name, fault, text)
    }

    var testDescription: String { name }
}

struct ResponseParserTests {
    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"

    static let good = [
        GoodResponse(name: "a length", text: ok + "Content-Length: 2\r\n\r\n{}", body: "{}"),
        GoodResponse(name: "a length of zero", text: ok + "Content-Length: 0\r\n\r\n"),
        GoodResponse(name: "a length with leading zeros", text: ok + "Content-Length: 002\r\n\r\n{}", body: "{}"),
        GoodResponse(
            name: "equal lengths", text: ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", body: "{}"),
        GoodResponse(
            name: "no framing", text: ok + "\r\n{}", body: "{}", endsWithConnection: true, allowsReuse: false),
        GoodResponse(
            name: "no framing, no body", text: ok + "\r\n", endsWithConnection: true, allowsReuse: false),
        GoodResponse(name: "no reason", text: "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", status: 404),
        GoodResponse(name: "an empty reason", text: "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", status: 404),
        GoodResponse(
            name: "a reason in Latin", text: "HTTP/1.1 400 Dés\u{A0}\r\nContent-Length: 0\r\n\r\n", status: 400),
        GoodResponse(name: "an unknown status", text: "HTTP/1.1 799 X\r\nContent-Length: 0\r\n\r\n", status: 799),
        GoodResponse(
            name: "line feeds alone", text: "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}", body: "{}"),
        GoodResponse(name: "204 with a length", text: "HTTP/1.1 204 X\r\nContent-Length: 9\r\n\r\n", status: 204),
        GoodResponse(name: "304 with a length", text: "HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n", status: 304),
        GoodResponse(
            name: "HTTP/1.0", text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", body: "{}", allowsReuse: false),
        GoodResponse(
            name: "HTTP/1.0 that stays",
            text: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}",
            body: "{}"),
        GoodResponse(
            name: "Connection: close", text: ok + "Connection: close\r\nContent-Length: 2\r\n\r\n{}", body: "{}",
            allowsReuse: false),
        GoodResponse(
            name: "close in a list", text: ok + "CONNECTION: x ,\tClose\r\nContent-Length: 2\r\n\r\n{}", body: "{}",
            allowsReuse: false),
        GoodResponse(
            name: "an option that only looks like close",
            text: ok + "Connection: closed\r\nContent-Length: 2\r\n\r\n{}", body: "{}"),
        GoodResponse(name: "chunks", text: chunked + "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", body: "{}"),
        GoodResponse(
            name: "chunks with extensions", text: chunked + "2 ; a=b;c=\"d\"\r\n{}\r\n000;x\r\n\r\n", body: "{}"),
        GoodResponse(
            name: "a chunk size in capitals", text: chunked + "A\r\n0123456789\r\n0\r\n\r\n", body: "0123456789"),
        GoodResponse(name: "white space after a chunk size", text: chunked + "2 \r\n{}\r\n0\t\r\n\r\n", body: "{}"),
        GoodResponse(name: "trailers with line feeds alone", text: chunked + "0\r\nX-A: b\n\n"),
        GoodResponse(name: "an extension of no grammar", text: chunked + "2;=\"\r\n{}\r\n0\r\n\r\n", body: "{}"),
        GoodResponse(name: "trailers", text: chunked + "2\r\n{}\r\n0\r\nX-A: b\r\nDate: c\r\n\r\n", body: "{}"),
        GoodResponse(
            name: "chunks and a length", text: ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            allowsReuse: false),
        GoodResponse(
            name: "interim responses",
            text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 7\r\n\r\n"
                + ok + "Content-Length: 2\r\n\r\n{}", body: "{}"),
        GoodResponse(
            name: "a folded field", text: ok + "X-A: b\r\n c\r\n\td\r\nContent-Length: 2\r\n\r\n{}", body: "{}"),
        GoodResponse(
            name: "the coding identity", text: ok + "Content-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
            body: "{}"),
        GoodResponse(
            name: "an empty body in gzip", text: ok + "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n"),
    ]

    @Test("A response is the same in one piece and in pieces of any size", arguments: good)
    func accepted(_ good: GoodResponse) throws {
        let bytes = Array(good.text.utf8)
        for size in [bytes.count, 1, 2, 3, 7] {
            var parser = ResponseParser(bodyBytes: 100)
            var taken = 0
            for start in stride(from: 0, to: bytes.count, by: size) {
                #expect(!parser.isComplete, "after \(start) bytes")
                taken += try parser.receive(Array(bytes[start..<min(bytes.count, start + size)]).span)
            }
            #expect(taken == bytes.count)
            #expect(parser.isComplete != good.endsWithConnection)
            if good.endsWithConnection { try parser.inputEnded() }
            #expect(parser.isComplete)
            #expect(parser.head.response.status == good.status)
            #expect(String(decoding: parser.body, as: UTF8.self) == good.body)
            #expect(parser.allowsReuse == good.allowsReuse)
            // What follows does not belong to the response.
            #expect(try parser.receive(Array("HTTP/1.1 500 X\r\n\r\n".utf8).span) == 0)
            #expect(parser.head.response.status == good.status)
        }
    }

    static let bad = [
        BadResponse("nothing", .incomplete, ""),
        BadResponse("an empty line first", .notHTTP, "\r\n" + ok),
        BadResponse("no HTTP", .notHTTP, "220 mail.example ESMTP\r\n"),
        BadResponse("another case", .notHTTP, "http/1.1 200 OK\r\n"),
        BadResponse("HTTP/0.9", .notHTTP, "<html></html>"),
        BadResponse("HTTP/2", .notHTTP, "HTTP/2 200 OK\r\n\r\n"),
        BadResponse("HTTP/1.2", .notHTTP, "HTTP/1.2 200 OK\r\n\r\n"),
        BadResponse("HTTP/1.11", .statusLine, "HTTP/1.11 200 OK\r\n\r\n"),
        BadResponse("HTTP/1.", .statusLine, "HTTP/1.\r\n"),
        BadResponse("a short status", .statusLine, "HTTP/1.1 20\r\n\r\n"),
        BadResponse("a long status", .statusLine, "HTTP/1.1 2000 OK\r\n\r\n"),
        BadResponse("a status of words", .statusLine, "HTTP/1.1 OK! OK\r\n\r\n"),
        BadResponse("a status below 100", .statusLine, "HTTP/1.1 099 X\r\n\r\n"),
        BadResponse("a sign in the status", .statusLine, "HTTP/1.1 +20 X\r\n\r\n"),
        BadResponse("two spaces before the status", .statusLine, "HTTP/1.1  200 OK\r\n\r\n"),
        BadResponse("NUL in the reason", .statusLine, "HTTP/1.1 200 O\0K\r\n\r\n"),
        BadResponse("a carriage return in the reason", .statusLine, "HTTP/1.1 200 OK\rX: y\r\n\r\n"),
        BadResponse("101", .switchedProtocols, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        BadResponse("half a status line", .incomplete, "HTTP/1.1 20"),
        BadResponse("half a head", .incomplete, ok + "Content-Type: a"),
        BadResponse("a head without its end", .incomplete, ok + "Content-Length: 0\r\n"),
        BadResponse("an interim response alone", .incomplete, "HTTP/1.1 100 Continue\r\n\r\n"),
        BadResponse("no colon", .field, ok + "no colon\r\n\r\n"),
        BadResponse("no name", .field, ok + ": empty\r\n\r\n"),
        BadResponse("white space before the colon", .field, ok + "Content-Length : 2\r\n\r\n{}"),
        BadResponse("NUL in a name", .field, ok + "Content\0Length: 2\r\n\r\n{}"),
        BadResponse("NUL in a value", .field, ok + "X: a\0b\r\n\r\n"),
        BadResponse("a carriage return in a value", .field, ok + "X: a\rContent-Length: 2\r\n\r\n{}"),
        BadResponse("two carriage returns", .field, ok + "X: a\r\r\n\r\n"),
        BadResponse("a carriage return before the end", .field, ok + "\r\r\n"),
        BadResponse("DEL in a value", .field, ok + "X: a\u{7F}\r\n\r\n"),
        BadResponse("a fold first", .folding, ok + " X: a\r\n\r\n"),
        BadResponse("a folded length", .folding, ok + "Content-Length: 2\r\n 2\r\n\r\n{}"),
        BadResponse("a folded Connection", .folding, ok + "Connection: x,\r\n close\r\nContent-Length: 0\r\n\r\n"),
        BadResponse("NUL in a fold", .field, ok + "X: a\r\n \0\r\n\r\n"),
        BadResponse("a length of words", .contentLength, ok + "Content-Length: many\r\n\r\nx"),
        BadResponse("no length", .contentLength, ok + "Content-Length:\r\n\r\nx"),
        BadResponse("a negative length", .contentLength, ok + "Content-Length: -1\r\n\r\nx"),
        BadResponse("a length with a sign", .contentLength, ok + "Content-Length: +1\r\n\r\nx"),
        BadResponse("a length with a fraction", .contentLength, ok + "Content-Length: 1.0\r\n\r\nx"),
        BadResponse("a hexadecimal length", .contentLength, ok + "Content-Length: 0x1\r\n\r\nx"),
        BadResponse("a list of lengths", .contentLength, ok + "Content-Length: 1, 1\r\n\r\nx"),
        BadResponse("two lengths", .contentLength, ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
        BadResponse(
            "words after a huge length", .contentLength,
            ok + "Content-Length: \(String(repeating: "9", count: 30))x\r\n\r\n"),
        BadResponse("a length over the limit", .bodyTooLarge, ok + "Content-Length: 101\r\n\r\n"),
        BadResponse(
            "a length that overflows", .bodyTooLarge,
            ok + "Content-Length: \(String(repeating: "9", count: 30))\r\n\r\n"),
        BadResponse("less than its length", .incomplete, ok + "Content-Length: 9\r\n\r\n{}"),
        BadResponse("more than the limit", .bodyTooLarge, ok + "\r\n" + String(repeating: "x", count: 101)),
        BadResponse("another transfer coding", .transferEncoding, ok + "Transfer-Encoding: gzip\r\n\r\n"),
        BadResponse("two transfer codings", .transferEncoding, ok + "Transfer-Encoding: gzip, chunked\r\n\r\n"),
        BadResponse(
            "chunked twice", .transferEncoding,
            ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
        BadResponse("the transfer coding identity", .transferEncoding, ok + "Transfer-Encoding: identity\r\n\r\n"),
        BadResponse("no transfer coding", .transferEncoding, ok + "Transfer-Encoding:\r\n\r\n"),
        BadResponse(
            "chunks in HTTP/1.0", .transferEncoding, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        BadResponse("another content coding", .contentEncoding, ok + "Content-Encoding: br\r\n\r\n"),
        BadResponse("two content codings", .contentEncoding, ok + "Content-Encoding: gzip, gzip\r\n\r\n"),
        BadResponse(
            "two content codings in two lines", .contentEncoding,
            ok + "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n"),
        BadResponse("no chunk size", .chunk, chunked + "\r\n{}\r\n0\r\n\r\n"),
        BadResponse("a chunk size of words", .chunk, chunked + "zz\r\n{}\r\n0\r\n\r\n"),
        BadResponse("a negative chunk size", .chunk, chunked + "-1\r\n{}\r\n0\r\n\r\n"),
        BadResponse("white space before a chunk size", .chunk, chunked + " 2\r\n{}\r\n0\r\n\r\n"),
        BadResponse("0x before a chunk size", .chunk, chunked + "0x2\r\n{}\r\n0\r\n\r\n"),
        BadResponse("two chunk sizes", .chunk, chunked + "2 2\r\n{}\r\n0\r\n\r\n"),
        BadResponse("a chunk size of 17 digits", .chunk, chunked + "00000000000000002\r\n{}\r\n0\r\n\r\n"),
        BadResponse("a chunk size that overflows", .chunk, chunked + "ffffffffffffffff\r\n"),
        BadResponse("a huge chunk size", .bodyTooLarge, chunked + "7fffffffffffffff\r\n"),
        BadResponse("a chunk over the limit", .bodyTooLarge, chunked + "65\r\n"),
        BadResponse("a chunk size without carriage return", .lineEnd, chunked + "2\n{}\r\n0\r\n\r\n"),
        BadResponse("a carriage return in an extension", .chunk, chunked + "2;a\rb\r\n{}\r\n0\r\n\r\n"),
        BadResponse("NUL in an extension", .chunk, chunked + "2;a\0\r\n{}\r\n0\r\n\r\n"),
        BadResponse("an endless extension", .chunk, chunked + "2;" + String(repeating: "a", count: 1024)),
        BadResponse("a chunk longer than its size", .chunk, chunked + "2\r\n{}}\r\n0\r\n\r\n"),
        BadResponse("a chunk shorter than its size", .chunk, chunked + "3\r\n{}\r\n0\r\n\r\n"),
        BadResponse("a chunk that ends with a line feed", .chunk, chunked + "2\r\n{}\n0\r\n\r\n"),
        BadResponse("half a chunk", .incomplete, chunked + "9\r\n{}"),
        BadResponse("no last chunk", .incomplete, chunked + "2\r\n{}\r\n"),
        BadResponse("half a last chunk", .incomplete, chunked + "0\r\n"),
        BadResponse("a trailer without colon", .field, chunked + "0\r\nno colon\r\n\r\n"),
        BadResponse("a folded trailer", .field, chunked + "0\r\nX: a\r\n b\r\n\r\n"),
        BadResponse("text as gzip", .gzip, ok + "Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\nplaintext"),
    ]

    @Test("A response that is not valid has its fault, in one piece and in pieces of any size", arguments: bad)
    func refused(_ bad: BadResponse) {
        let bytes = Array(bad.text.utf8)
        for size in [max(1, bytes.count), 1, 2, 3, 7] { #expect(fault(of: bytes, in: size, limit: 100) == bad.fault) }
    }

    @Test("The lines of one response together are limited: interim responses, fields, extensions and trailers")
    func headLimit() {
        let field = "X: " + String(repeating: "x", count: 1019) + "\r\n"
        let interim = "HTTP/1.1 100 Continue\r\n" + String(repeating: field, count: 16) + "\r\n"
        let most = Self.ok + String(repeating: field, count: 15)
        #expect(fault(of: Array((interim + most + "Content-Length: 0\r\n\r\n").utf8), in: 99, limit: 9) == nil)
        #expect(fault(of: Array((interim + most + field).utf8), in: 99, limit: 9) == .headTooLarge)
        #expect(
            fault(of: Array((Self.ok + "X: " + String(repeating: "x", count: 40_000)).utf8), in: 4096, limit: 9)
                == .headTooLarge)
        let trailers = Self.chunked + "0\r\n" + String(repeating: field, count: 32)
        #expect(fault(of: Array(trailers.utf8), in: 99, limit: 9) == .headTooLarge)
        let chunk = "1;" + String(repeating: "x", count: 1000) + "\r\nx\r\n"
        #expect(
            fault(of: Array((Self.chunked + String(repeating: chunk, count: 33)).utf8), in: 99, limit: 99)
                == .headTooLarge)
        #expect(
            fault(of: Array(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1400).utf8), in: 4096, limit: 9)
                == .headTooLarge)
    }

    @Test("Fields are found whatever their case and white space")
    func fields() throws {
        let head = try head(
            "CONTENT-TYPE:application/json", "cache-control: \t max-age=60 ", "Retry-After: 7",
            "Date: Tue, 01 Jul 2025 00:00:00 GMT", "Content-Length: 0", "X-Date: no", "Dat: no")
        #expect(head.response.contentType == "application/json")
        #expect(head.response.cacheControl == "max-age=60")
        #expect(head.response.retryAfter == "7")
        #expect(head.response.date == "Tue, 01 Jul 2025 00:00:00 GMT")
    }

    @Test("The first of several fields counts, but Cache-Control fields are joined")
    func repeated() throws {
        let head = try head(
            "Content-Type: a/b", "Content-Type: c/d", " e", "Cache-Control: x", "\tx2", "Cache-Control: y", "Date: a",
            " b", "Content-Length: 0")
        #expect(head.response.contentType == "a/b")
        #expect(head.response.cacheControl == "x x2, y")
        #expect(head.response.date == "a b")
    }

    @Test("Several DPoP-Nonce and WWW-Authenticate fields are joined, so that none of them is taken for the only one")
    func challenges() throws {
        let single = try head(
            "dpop-nonce: n-1", "WWW-Authenticate: DPoP algs=\"ES256\",", " error=\"x\"", "Content-Length: 0")
        #expect(single.response.dpopNonce == "n-1")
        #expect(single.response.wwwAuthenticate == "DPoP algs=\"ES256\", error=\"x\"")
        let several = try head(
            "DPoP-Nonce: a", "DPoP-Nonce: b", "WWW-Authenticate: Bearer", "WWW-Authenticate: DPoP", "Content-Length: 0")
        #expect(several.response.dpopNonce == "a, b")
        #expect(several.response.wwwAuthenticate == "Bearer, DPoP")
        #expect(try head("DPoP-Nonce: a", " b", "Content-Length: 0").response.dpopNonce == "a b")
    }

    @Test("An interim response's fields are forgotten, and a trailer's are never used")
    func interimAndTrailer() throws {
        let text =
            "HTTP/1.1 103 Early Hints\r\nContent-Type: a/b\r\nConnection: close\r\n\r\n"
            + "HTTP/1.1 200 OK\r\nRetry-After: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "0\r\nContent-Type: c/d\r\nConnection: close\r\n\r\n"
        var parser = ResponseParser(bodyBytes: 0)
        _ = try parser.receive(Array(text.utf8).span)
        #expect(parser.allowsReuse)
        #expect(parser.head.response.contentType == nil)
        #expect(parser.head.response.retryAfter == "1")
    }

    @Test("A response to CONNECT has no body, whatever its fields say", arguments: ["200 OK", "407 No", "502 No"])
    func connect(status: String) throws {
        let fields = [
            "Content-Length: 9", "Transfer-Encoding: chunked", "X: y", "Content-Encoding: gzip\r\nContent-Length: 9",
        ]
        for field in fields {
            var parser = ResponseParser(bodyBytes: 0, isOfConnect: true)
            let text = Array("HTTP/1.1 \(status)\r\n\(field)\r\n\r\n".utf8)
            #expect(try parser.receive((text + [22]).span) == text.count)
            #expect(parser.isComplete)
        }
    }

    private func head(_ lines: String...) throws -> ResponseHead {
        var parser = ResponseParser(bodyBytes: 0)
        _ = try parser.receive(Array((Self.ok + lines.joined(separator: "\r\n") + "\r\n\r\n").utf8).span)
        #expect(parser.isComplete)
        return parser.head
    }

    private func fault(of bytes: [UInt8], in size: Int, limit: Int) -> ResponseError? {
        var parser = ResponseParser(bodyBytes: limit)
        do throws(ResponseError) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                _ = try parser.receive(Array(bytes[start..<min(bytes.count, start + size)]).span)
            }
            try parser.inputEnded()
            return nil
        } catch {
            return error
        }
    }
}
