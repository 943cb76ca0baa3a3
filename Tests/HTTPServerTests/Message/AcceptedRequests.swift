import HTTPServer
import Testing

/// Bytes that must be accepted, and the requests in them.
struct AcceptedRequest: Sendable, CustomTestStringConvertible {
    typealias Handled = MachineDriver.Handled

    let name: String
    let bytes: [UInt8]
    let handled: [Handled]

    init(_ name: String, _ text: String, _ handled: Handled...) {
        self.name = name
        self.bytes = wire(text)
        self.handled = handled
    }

    var testDescription: String { name }

    static let all = requestLines + targets + fields + hosts + connections + contents + chunks + pipelines

    private static func get(
        _ path: String = "/", query: String? = nil, method: String = "GET", body: String = "", closes: Bool = false
    ) -> Handled {
        Handled(method: method, path: path, query: query, body: wire(body), closes: closes)
    }

    private static func post(_ body: String, closes: Bool = false) -> Handled {
        get(method: "POST", body: body, closes: closes)
    }

    static let requestLines: [AcceptedRequest] = [
        .init("GET", request("GET /"), get()),
        .init("HEAD", request("HEAD /"), get(method: "HEAD")),
        .init("an unknown method", request("BREW /pot"), get("/pot", method: "BREW")),
        .init("a method in lower case is another method", request("get /"), get(method: "get")),
        .init("a method of odd characters", request("!#$%&'*+-.^_`|~09 /"), get(method: "!#$%&'*+-.^_`|~09")),
        .init(
            "the longest method", request(String(repeating: "A", count: 32) + " /"),
            get(method: String(repeating: "A", count: 32))),
        .init("one empty line before the request", "\r\n" + request("GET /"), get()),
        .init("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", get()),
        .init("HTTP/1.9", "GET / HTTP/1.9\r\nHost: a\r\n\r\n", get()),
        .init("HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", get(closes: true)),
    ]

    static let targets: [AcceptedRequest] = [
        .init("a query", request("GET /a?b=c&d"), get("/a", query: "b=c&d")),
        .init("an empty query", request("GET /a?"), get("/a", query: "")),
        .init("two question marks", request("GET /a?b?c"), get("/a", query: "b?c")),
        .init("escapes", request("GET /caf%C3%A9%20a"), get("/caf\u{E9} a")),
        .init("escapes in the query stay", request("GET /?a=%2F%0D%FF"), get(query: "a=%2F%0D%FF")),
        .init("all that a path may hold", request("GET /-._~!$&'()*+,;=:@"), get("/-._~!$&'()*+,;=:@")),
        .init("two slashes", request("GET //a//b"), get("//a//b")),
        .init("dots that are no dot segment", request("GET /...a/.b/c./.well-known"), get("/...a/.b/c./.well-known")),
        .init("dots in the query", request("GET /a?/../b"), get("/a", query: "/../b")),
        .init("a URL in the query", request("GET /a?b=http://c/d"), get("/a", query: "b=http://c/d")),
        .init(
            "all that browsers leave as it is in a query", request("GET /a?[b]={c}|d^`\\\"<e>'?/"),
            get("/a", query: "[b]={c}|d^`\\\"<e>'?/")),
        .init(
            "a percent sign in the query that is no escape", request("GET /?a=100%&b=%zz%4"),
            get(query: "a=100%&b=%zz%4")),
        .init("bytes beyond ASCII in the query", request("GET /?a=\u{E9}|\u{FF}"), get(query: "a=%E9|%FF")),
        .init("an encoded NUL in the query", request("GET /a?b=%00"), get("/a", query: "b=%00")),
        .init("absolute-form", request("GET http://example.com/a?b"), get("/a", query: "b")),
        .init("brackets in the query of absolute-form", request("GET http://[::1]/?a[]=b"), get(query: "a[]=b")),
        .init("absolute-form without a path", request("GET http://example.com"), get()),
        .init("absolute-form with a query and no path", request("GET http://example.com?a"), get(query: "a")),
        .init("absolute-form with a port", request("GET http://example.com:8080/a"), get("/a")),
        .init("absolute-form with an empty port", request("GET http://example.com:/a"), get("/a")),
        .init("absolute-form with an IPv6 address", request("GET http://[2001:db8::1]:80/a"), get("/a")),
        .init("absolute-form with another case", request("GET HTTPS://EXAMPLE.com/a"), get("/a")),
        .init("absolute-form with another host than Host", request("GET http://other.example/a"), get("/a")),
        .init("absolute-form in HTTP/1.0", "GET http://example.com/a HTTP/1.0\r\n\r\n", get("/a", closes: true)),
        .init("asterisk-form", request("OPTIONS *"), get("*", method: "OPTIONS")),
        .init("OPTIONS of a path", request("OPTIONS /a"), get("/a", method: "OPTIONS")),
        .init(
            "the longest request line", request("GET /" + String(repeating: "a", count: 32_768 - 14)),
            get("/" + String(repeating: "a", count: 32_768 - 14))),
    ]

    static let fields: [AcceptedRequest] = [
        .init("no space before the value", request("GET /", "X:y"), get()),
        .init("white space around the value", request("GET /", "X: \t y z \t "), get()),
        .init("an empty value", request("GET /", "X:"), get()),
        .init("a value of white space", request("GET /", "X: \t"), get()),
        .init("a tab in a value", request("GET /", "X: a\tb"), get()),
        .init("bytes beyond ASCII in a value", request("GET /", "X: \u{E9}\u{80}\u{FF}"), get()),
        .init("colons in a value", request("GET /", "X: a:b: c"), get()),
        .init("an odd name", request("GET /", "!#$%&'*+-.^_`|~0Az: a"), get()),
        .init("a name with an underscore", request("GET /", "Content_Length: 5"), get()),
        .init("a name of one letter", request("GET /", "a: b"), get()),
        .init("the same field twice", request("GET /", "Accept: a", "Accept: b"), get()),
        .init(
            "the maximum of fields",
            request("GET /") + "GET / HTTP/1.1\r\nHost: a\r\n"
                + String(repeating: "X: y\r\n", count: 99) + "\r\n", get(), get()),
        .init(
            "the maximum of header bytes",
            "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 16384 - 9 - 5) + "\r\n\r\n", get()),
    ]

    static let hosts: [AcceptedRequest] = [
        "a", "A.Example", "example.com:80", "example.com:", "example.com:65535", "127.0.0.1", "127.0.0.1:8080", "[::1]",
        "[::1]:80", "[2001:DB8::1.2.3.4]", "xn--bcher-kva.example", "a_b.example", "example.com.", " a ", "\ta\t",
    ].map { .init("Host: \($0)", "GET / HTTP/1.1\r\nhOST:\($0)\r\n\r\n", get()) }

    static let connections: [AcceptedRequest] =
        ["close", "Close", "CLOSE", "x, close", "close,x", "keep-alive, close", ",close", "x,\tclose\t"].map {
            .init("HTTP/1.1 and Connection: \($0)", request("GET /", "Connection: \($0)"), get(closes: true))
        }
        + ["keep-alive", "x", "", "closed", "close-not", "clos e", "upgrade, http2-settings"].map {
            .init("HTTP/1.1 and Connection: \($0)", request("GET /", "Connection: \($0)"), get())
        }
        + ["keep-alive", "Keep-Alive", "x, keep-alive"].map {
            .init("HTTP/1.0 and Connection: \($0)", "GET / HTTP/1.0\r\nConnection: \($0)\r\n\r\n", get())
        }
        + ["close", "x", "keep-alive, close", ""].map {
            .init("HTTP/1.0 and Connection: \($0)", "GET / HTTP/1.0\r\nConnection: \($0)\r\n\r\n", get(closes: true))
        } + [
            .init("close in a second field", request("GET /", "Connection: x", "Connection: close"), get(closes: true)),
            .init(
                "nothing is taken after close", request("GET /a", "Connection: close", then: request("GET /b")),
                get("/a", closes: true)),
            .init(
                "nothing is taken after HTTP/1.0", "GET /a HTTP/1.0\r\n\r\n" + request("GET /b"),
                get("/a", closes: true)),
            .init(
                "an upgrade is not heeded",
                request(
                    "GET /", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
                    + request("GET /b"), get(), get("/b")),
        ]

    static let contents: [AcceptedRequest] = [
        .init("content", request("POST /", "Content-Length: 5", then: "hello"), post("hello")),
        .init("a name in another case", request("POST /", "cOnTeNt-LeNgTh: 5", then: "hello"), post("hello")),
        .init(
            "white space around the length", request("POST /", "Content-Length: \t5\t ", then: "hello"), post("hello")),
        .init(
            "leading zeros", request("POST /", "Content-Length: 0000000000000000000005", then: "hello"), post("hello")),
        .init("no content", request("POST /", "Content-Length: 0"), post("")),
        .init("no length", request("POST /"), post("")),
        .init(
            "content that looks like a request",
            request("POST /", "Content-Length: 18", then: "GET / HTTP/1.1\r\n\r\n"),
            post("GET / HTTP/1.1\r\n\r\n")),
        .init(
            "any bytes", request("POST /", "Content-Length: 6", then: "\0\r\n\u{FF}\u{80}\r"),
            post("\0\r\n\u{FF}\u{80}\r")),
        .init(
            "content of GET", request("GET /", "Content-Length: 5", then: "hello") + request("GET /b"),
            get(body: "hello"), get("/b")),
        .init("content of HEAD", request("HEAD /", "Content-Length: 2", then: "ok"), get(method: "HEAD", body: "ok")),
        .init(
            "content of OPTIONS", request("OPTIONS *", "Content-Length: 2", then: "ok"),
            get("*", method: "OPTIONS", body: "ok")),
        .init("content in HTTP/1.0", "POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello", post("hello", closes: true)),
        .init(
            "the longest content",
            request("POST /", "Content-Length: 65536", then: String(repeating: "a", count: 65536)),
            post(String(repeating: "a", count: 65536))),
        .init(
            "an expectation", request("POST /", "Expect: 100-continue", "Content-Length: 5", then: "hello"),
            post("hello")),
        .init(
            "an expectation in capitals", request("POST /", "Expect: 100-Continue", "Content-Length: 5", then: "hello"),
            post("hello")),
        .init("an expectation without content", request("GET /", "Expect: 100-continue"), get()),
        .init(
            "an expectation in HTTP/1.0", "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok",
            post("ok", closes: true)),
    ]

    static let chunks: [AcceptedRequest] =
        [
            ("one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("no chunk", "0\r\n\r\n", ""),
            ("more chunks", "2\r\nhe\r\n1\r\nl\r\n2\r\nlo\r\n0\r\n\r\n", "hello"),
            ("digits of both cases", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"),
            ("leading zeros", "0000000000000005\r\nhello\r\n0000\r\n\r\n", "hello"),
            ("an extension", "5;a\r\nhello\r\n0;b\r\n\r\n", "hello"),
            ("an extension with a value", "5;a=b\r\nhello\r\n0\r\n\r\n", "hello"),
            ("an extension with a quoted value", "5;a=\"b;\\\"c\t\u{E9}\"\r\nhello\r\n0\r\n\r\n", "hello"),
            ("more extensions", "5;a;b=c;d=\"\"\r\nhello\r\n0\r\n\r\n", "hello"),
            ("white space in extensions", "5 ; a = b\t;\tc\r\nhello\r\n0\r\n\r\n", "hello"),
            ("a trailer", "5\r\nhello\r\n0\r\nX-Checksum: abc\r\n\r\n", "hello"),
            ("more trailers", "0\r\nX: y\r\nZ:\r\n\r\n", ""),
            ("line ends in the data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"),
            ("data that looks like the end", "7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n\r\n"),
        ].map { name, chunks, body in
            .init(
                "chunks: \(name)",
                request("POST /", "Transfer-Encoding: chunked", then: chunks) + request("GET /after"),
                post(body), get("/after"))
        }
        + ["Chunked", "CHUNKED", " \tchunked \t", "chunked"].map {
            .init(
                "coding \($0)", request("POST /", "transfer-ENCODING:\($0)", then: "2\r\nok\r\n0\r\n\r\n"), post("ok"))
        } + [
            .init(
                "the longest content in chunks",
                request(
                    "POST /", "Transfer-Encoding: chunked",
                    then: String(repeating: "8000\r\n\(String(repeating: "a", count: 0x8000))\r\n", count: 2)
                        + "0\r\n\r\n"),
                post(String(repeating: "a", count: 65536)))
        ]

    static let pipelines: [AcceptedRequest] = [
        .init(
            "the coding that is none, and one of no content",
            request("POST /", "Content-Encoding: identity", "Content-Length: 2", then: "ok")
                + request("GET /b", "Content-Encoding: gzip"),
            post("ok"), get("/b")),
        .init(
            "three requests",
            request("GET /a") + request("POST /", "Content-Length: 2", then: "ok") + request("GET /c"),
            get("/a"), post("ok"), get("/c")),
        .init(
            "an empty line after content", request("POST /", "Content-Length: 2", then: "ok\r\n") + request("GET /b"),
            post("ok"), get("/b")),
        .init(
            "a request that closes comes last",
            request("GET /a") + request("GET /b", "Connection: close") + "\0garbage",
            get("/a"), get("/b", closes: true)),
        .init(
            "HTTP/1.0 kept alive, then HTTP/1.1",
            "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + request("GET /b"),
            get("/a"), get("/b")),
    ]
}
