import HTTPServer
import Testing

/// Bytes that must be refused, and the rule.
struct RefusedRequest: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let error: RequestError
    /// The number of valid requests before the refused one.
    let handledBefore: Int
    /// Whether the client ends its side after the bytes.
    let ends: Bool

    init(_ name: String, _ text: String, _ error: RequestError, handledBefore: Int = 0, ends: Bool = false) {
        self.name = name
        self.bytes = wire(text)
        self.error = error
        self.handledBefore = handledBefore
        self.ends = ends
    }

    var testDescription: String { name }

    static let all =
        requestLines + targets + lineEnds + fields + hosts + lengths + codings + chunks + trailers + expectations
        + contentCodings + limits + ends + pipelines

    /// A request after which nothing may be read as another request.
    static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: example.com\r\n\r\n"

    static let requestLines: [RefusedRequest] = [
        .init("no version (HTTP/0.9)", "GET /\r\n\r\n", .requestLine),
        .init("no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", .requestLine),
        .init("a method alone", "GET\r\n\r\n", .method),
        .init("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a space before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a tab before the method", "\tGET / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("two spaces after the method", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", .requestLine),
        .init("two spaces after the target", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", .version),
        .init("a space after the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", .version),
        .init("a tab after the version", "GET / HTTP/1.1\t\r\nHost: a\r\n\r\n", .version),
        .init("a tab after the method", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a tab after the target", "GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", .requestLine),
        .init("a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", .version),
        .init("a vertical tab between the parts", "GET\u{B}/\u{B}HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a method with a colon", "GE:T / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a method with a slash", "GE/T / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a method with a NUL", "GE\0T / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a method beyond ASCII", "GE\u{C9}T / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a quoted method", "\"GET\" / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a byte order mark", "\u{EF}\u{BB}\u{BF}GET / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("a TLS record", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{FC}\u{3}\u{3}", .method),
        .init(
            "a method longer than any", "\(String(repeating: "A", count: 33)) / HTTP/1.1\r\nHost: a\r\n\r\n",
            .methodTooLong),
        .init("CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", .connect),
        .init("a version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n", .version),
        .init("a version without a minor number", "GET / HTTP/1\r\nHost: a\r\n\r\n", .version),
        .init("a version with an empty minor number", "GET / HTTP/1.\r\nHost: a\r\n\r\n", .version),
        .init("a minor number of two digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", .version),
        .init("a major number of two digits", "GET / HTTP/01.1\r\nHost: a\r\n\r\n", .version),
        .init("a version with a comma", "GET / HTTP/1,1\r\nHost: a\r\n\r\n", .version),
        .init("a version with a letter", "GET / HTTP/1.x\r\nHost: a\r\n\r\n", .version),
        .init("a version of another protocol", "GET / RTSP/1.0\r\nHost: a\r\n\r\n", .version),
        .init("a space in the version", "GET / HTTP /1.1\r\nHost: a\r\n\r\n", .version),
        .init("HTTP/0.9 by name", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", .unsupportedVersion),
        .init("HTTP/2.0 by name", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", .unsupportedVersion),
        .init("HTTP/3.0 by name", "GET / HTTP/3.0\r\nHost: a\r\n\r\n", .unsupportedVersion),
        .init("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .unsupportedVersion),
        .init("two empty lines before the request", "\r\n\r\n" + smuggled, .emptyLine),
        .init("a response", "HTTP/1.1 200 OK\r\n\r\n", .method),
        .init("a version of three numbers", "GET / HTTP/1.1.1\r\nHost: a\r\n\r\n", .version),
        .init("a version with a sign", "GET / HTTP/+1.1\r\nHost: a\r\n\r\n", .version),
        .init("a negative version", "GET / HTTP/1.-1\r\nHost: a\r\n\r\n", .version),
        .init("the version of HTTP over TLS", "GET / HTTPS/1.1\r\nHost: a\r\n\r\n", .version),
        .init("a version with a vertical tab", "GET / HTTP/1.1\u{B}\r\nHost: a\r\n\r\n", .version),
        .init("two versions", "GET / HTTP/1.1 HTTP/1.1\r\nHost: a\r\n\r\n", .version),
        .init("a request in the target", "GET / HTTP/1.1 X\r\nHost: a\r\n\r\n", .version),
        .init("a NUL before the request", "\0GET / HTTP/1.1\r\nHost: a\r\n\r\n", .method),
        .init("CONNECT in origin-form", "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n", .connect),
    ]

    static let targets: [RefusedRequest] = [
        .init("a relative path", request("GET index.html"), .target),
        .init("an authority for GET", request("GET example.com:80"), .target),
        .init("an asterisk for GET", request("GET *"), .target),
        .init("an asterisk and a query", request("OPTIONS *?a"), .target),
        .init("a query alone", request("GET ?a=b"), .target),
        .init("a fragment", request("GET /a#b"), .target),
        .init("a fragment in absolute-form", request("GET http://example.com/#b"), .target),
        .init("another scheme", request("GET ftp://example.com/"), .target),
        .init("a scheme without slashes", request("GET http:example.com/"), .target),
        .init("a scheme alone", request("GET http://"), .target),
        .init("absolute-form without a host", request("GET http:///path"), .hostInvalid),
        .init("absolute-form with a port alone", request("GET http://:80/"), .hostInvalid),
        .init("absolute-form with a user", request("GET http://user@example.com/"), .hostInvalid),
        .init("absolute-form with a user and password", request("GET http://u:p@example.com/"), .hostInvalid),
        .init("absolute-form with a bad port", request("GET http://example.com:8x/"), .hostInvalid),
        .init("absolute-form with an open bracket", request("GET http://[::1/"), .hostInvalid),
        .init("absolute-form with two hosts", request("GET http://a,b/"), .hostInvalid),
        .init("a bracket in an absolute path", request("GET http://example.com/[a]"), .target),
        .init("a NUL in the target", request("GET /a\0b"), .target),
        .init("DEL in the target", request("GET /a\u{7F}b"), .target),
        .init("a control character in the target", request("GET /a\u{1}b"), .target),
        .init("an escape character in the target", request("GET /a\u{1B}b"), .target),
        .init("a byte beyond ASCII in the target", request("GET /caf\u{E9}"), .target),
        .init("a quotation mark in the target", request("GET /\"a\""), .target),
        .init("angle brackets in the target", request("GET /<a>"), .target),
        .init("a backslash in the target", request("GET /a\\b"), .target),
        .init("a caret in the target", request("GET /a^b"), .target),
        .init("braces in the target", request("GET /{a}"), .target),
        .init("a bar in the path", request("GET /a|b?c|d"), .target),
        .init("a fragment in the query", request("GET /?a|b#c"), .target),
        .init("a byte beyond ASCII before the query", request("GET /\u{E9}?a|b\u{E9}"), .target),
        .init("DEL in the query", request("GET /?a|b\u{7F}"), .target),
        .init("a bare CR in the query", request("GET /?a|\rb"), .bareCarriageReturn),
        .init("a space in the query", request("GET /?a|b c"), .version),
        .init("a percent sign at the end", request("GET /a%"), .target),
        .init("a percent sign and one digit", request("GET /a%4"), .target),
        .init("a percent sign and letters", request("GET /a%zz"), .target),
        .init("a bare CR in the target", request("GET /a\rb"), .bareCarriageReturn),
        .init("an encoded NUL", request("GET /a%00b"), .path),
        .init("an encoded NUL before the query", request("GET /a%00?b=%00"), .path),
        .init("an encoded NUL in an authority", request("GET http://a%00b/"), .path),
        .init("an encoded CR LF", request("GET /a%0D%0AX:%20y"), .path),
        .init("an encoded LF at the end", request("GET /healthz%0a"), .path),
        .init("an encoded tab", request("GET /a%09"), .path),
        .init("an encoded escape character", request("GET /a%1B"), .path),
        .init("an encoded DEL", request("GET /a%7F"), .path),
        .init("an encoded backslash", request("GET /..%5C..%5Ca"), .path),
        .init("a character with 31 marks", request("GET /a" + String(repeating: "%CC%81", count: 31)), .path),
        .init("a percent sign and an old escape", request("GET /%u0041"), .target),
        .init("an encoded slash", request("GET /a%2Fb"), .path),
        .init("an escape that is not UTF-8", request("GET /%FF"), .path),
        .init("an overlong escape", request("GET /%C0%AF"), .path),
        .init("a dot segment", request("GET /a/./b"), .path),
        .init("a double dot segment", request("GET /a/../b"), .path),
        .init("a double dot segment at the end", request("GET /a/.."), .path),
        .init("an encoded dot segment", request("GET /%2e%2e/b"), .path),
        .init("a dot segment after a mark that joins with the slash", request("GET /%D8%82/../b"), .path),
        .init("a half encoded dot segment", request("GET /.%2E/b"), .path),
    ]

    static let lineEnds: [RefusedRequest] = [
        .init("LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", .bareLineFeed),
        .init("LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed),
        .init("LF at the end of the head", "GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
        .init("LF everywhere", "GET / HTTP/1.1\nHost: a\n\n", .bareLineFeed),
        .init("LF in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\nb: c\r\n\r\n", .bareLineFeed),
        .init("LF before the request", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .bareLineFeed),
        .init("LF after an empty line", "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", .bareLineFeed),
        .init("LF and CR", "GET / HTTP/1.1\n\rHost: a\n\r\n\r", .bareLineFeed),
        .init("CR after the request line", "GET / HTTP/1.1\rHost: a\r\n\r\n", .version),
        .init("CR before the request", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", .bareCarriageReturn),
        .init("CR at the start of a field", "GET / HTTP/1.1\r\n\rHost: a\r\n\r\n", .bareCarriageReturn),
        .init("CR in a name", "GET / HTTP/1.1\r\nHo\rst: a\r\n\r\n", .bareCarriageReturn),
        .init("CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", .bareCarriageReturn),
        .init("CR before CR LF", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\r\n\r\n", .bareCarriageReturn),
        .init("CR before the last CR LF", "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", .bareCarriageReturn),
        .init("CR in place of the last CR LF", "GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n", .bareCarriageReturn),
        .init(
            "CR and a hidden field", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rContent-Length: 5\r\n\r\n", .bareCarriageReturn
        ),
    ]

    static let fields: [RefusedRequest] = [
        .init("a space before the colon", request("GET /", "X : a"), .whitespaceBeforeColon),
        .init("a tab before the colon", request("GET /", "X\t: a"), .whitespaceBeforeColon),
        .init("a space before the colon of Host", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", .whitespaceBeforeColon),
        .init(
            "a space before the colon of Content-Length", request("POST /", "Content-Length : 5", then: "hello"),
            .whitespaceBeforeColon),
        .init(
            "a space before the colon of Transfer-Encoding",
            request("POST /", "Transfer-Encoding : chunked", then: "0\r\n\r\n"), .whitespaceBeforeColon),
        .init("a space in a name", request("GET /", "X Y: a"), .whitespaceBeforeColon),
        .init("no colon", request("GET /", "XY"), .fieldName),
        .init("an empty name", request("GET /", ": a"), .fieldName),
        .init("a name beyond ASCII", request("GET /", "X\u{E9}: a"), .fieldName),
        .init("a name with a NUL", request("GET /", "X\0: a"), .fieldName),
        .init("a name with DEL", request("GET /", "X\u{7F}: a"), .fieldName),
        .init("a name with a control character", request("GET /", "X\u{1}: a"), .fieldName),
        .init("a name with a vertical tab", request("GET /", "X\u{B}: a"), .fieldName),
        .init("a name with a parenthesis", request("GET /", "X(Y): a"), .fieldName),
        .init("a name with a bracket", request("GET /", "X[Y]: a"), .fieldName),
        .init("a name with a slash", request("GET /", "X/Y: a"), .fieldName),
        .init("a name with a comma", request("GET /", "X,Y: a"), .fieldName),
        .init("a name with a semicolon", request("GET /", "X;Y: a"), .fieldName),
        .init("a name with a quotation mark", request("GET /", "\"X\": a"), .fieldName),
        .init("a name with an at sign", request("GET /", "X@Y: a"), .fieldName),
        .init("a name with an equals sign", request("GET /", "X=Y: a"), .fieldName),
        .init("a value with a NUL", request("GET /", "X: a\0b"), .fieldValue),
        .init("a value with DEL", request("GET /", "X: a\u{7F}b"), .fieldValue),
        .init("a value with a control character", request("GET /", "X: a\u{1}b"), .fieldValue),
        .init("a value with a vertical tab", request("GET /", "X: \u{B}a"), .fieldValue),
        .init("a value with a form feed", request("GET /", "X: a\u{C}"), .fieldValue),
        .init("a value with a backspace", request("GET /", "X: a\u{8}b"), .fieldValue),
        .init("a folded first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", .lineFolding),
        .init("a tab before the first field", "GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", .lineFolding),
        .init("a folded value", request("GET /", "X: a\r\n b"), .lineFolding),
        .init("a value folded by a tab", request("GET /", "X: a\r\n\tb"), .lineFolding),
        .init("a folded Host", "GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n", .hostInvalid),
        .init("a folded later Host", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", .lineFolding),
        .init("a folded length", request("POST /", "Content-Length: 5\r\n 5", then: "hello"), .lineFolding),
        .init(
            "a folded coding", request("POST /", "Transfer-Encoding: chunked\r\n , identity", then: "0\r\n\r\n"),
            .lineFolding),
        .init("a line of white space", "GET / HTTP/1.1\r\nHost: a\r\n \r\n\r\n", .lineFolding),
        .init(
            "a second request line as a field", "GET / HTTP/1.1\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
            .whitespaceBeforeColon),
    ]

    static let hosts: [RefusedRequest] =
        [
            .init("no Host", "GET / HTTP/1.1\r\n\r\n", .hostMissing),
            .init("no Host in absolute-form", "GET http://example.com/ HTTP/1.1\r\n\r\n", .hostMissing),
            .init("no Host for an asterisk", "OPTIONS * HTTP/1.1\r\n\r\n", .hostMissing),
            .init("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", .hostRepeated),
            .init("two equal Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", .hostRepeated),
            .init("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHOST: a\r\n\r\n", .hostRepeated),
            .init("an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", .hostInvalid),
            .init("a Host of white space", "GET / HTTP/1.1\r\nHost: \t \r\n\r\n", .hostInvalid),
            .init("a bad Host in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a/b\r\n\r\n", .hostInvalid),
        ]
        + [
            "a, b", "a,b", "a b", "user@a", "user:pass@a", "a/b", "/", "http://a", "a?b", "a#b", "a:b", "a:80:80",
            "a:-1",
            "a:+80", "a: 80", "a :80", "a:65536", "a:99999999999999999999", "a:0x50", ":80", "::1", "[::1", "[]", "[a]",
            "[::1]a", "[::1]:x", "[::1%25eth0]", "[v1.a]", "::1]", "a\\b", "a%00b", "a;b", "\"a\"", "<a>", "{a}", "a|b",
            "b\u{FC}cher.example", "a\tb", "*", "[1.2.3.4]", "[::1]:65536",
        ].map { .init("Host: \($0)", "GET / HTTP/1.1\r\nHost: \($0)\r\n\r\n", .hostInvalid) }
}
