import HTTPServer

extension RefusedRequest {
    static let lengths: [RefusedRequest] =
        [
            "", " ", "+5", "-5", "-0", "0x5", "5a", "a5", "5 5", "5,5", "5, 5", "5,", ",5", "5;a=b", "5.0", "5e0",
            "\"5\"", "five",
            "0b101", "5_0", "\u{B2}", "5\u{A0}", "\u{A0}5", "9223372036854775808", "18446744073709551616",
            "18446744073709551621", "99999999999999999999999999999999", "4294967296 ",
        ].map {
            .init(
                "Content-Length: \($0)", request("POST /", "Content-Length: \($0)", then: "hello" + smuggled),
                $0 == "4294967296 " ? .bodyTooLarge : .contentLength)
        } + [
            .init("a length with a NUL", request("POST /", "Content-Length: 5\0", then: "hello"), .fieldValue),
            .init(
                "a length with a vertical tab",
                request("POST /", "Content-Length: \u{B}5", then: "hello"), .fieldValue),
            .init(
                "two lengths", request("POST /", "Content-Length: 5", "Content-Length: 6", then: "hello!"),
                .contentLengthRepeated),
            .init(
                "two equal lengths", request("POST /", "Content-Length: 5", "content-length: 5", then: "hello"),
                .contentLengthRepeated),
            .init(
                "two lengths with a field between",
                request("POST /", "Content-Length: 0", "X: y", "Content-Length: 44", then: smuggled),
                .contentLengthRepeated),
            .init(
                "two lengths in HTTP/1.0",
                "POST / HTTP/1.0\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", .contentLengthRepeated),
            .init("a bad length for GET", request("GET /", "Content-Length: x"), .contentLength),
        ]

    static let codings: [RefusedRequest] =
        [
            "", "xchunked", "chunkedx", "chunke", "identity", "chunked, identity", "chunked,gzip", "chunked, chunked",
            "chunked,", ",chunked", ", chunked", "gzip,, chunked", "chunked chunked", "chunked;q=1", "chunked; q=1",
            "chunked;", "gzip;q=1, chunked", "\"chunked\"", "'chunked'", "chunk ed", "gzip chunked", "chunked\u{A0}",
            "\u{A0}chunked", "chunked\u{85}", "ch\u{A0}unked", "chunked, gzip, chunked", "gzip", "deflate", "cow",
            "chunked/1.0", "c\u{FC}unked", "chunKed\u{212A}", "(chunked)", "chunked,chunked",
        ].map {
            .init(
                "Transfer-Encoding: \($0)",
                request("POST /", "Transfer-Encoding: \($0)", then: "0\r\n\r\n" + smuggled), .transferEncoding)
        }
        + ["gzip, chunked", "gzip,chunked", "deflate, gzip, Chunked", "identity, chunked", "cow,\tchunked"].map {
            .init(
                "Transfer-Encoding: \($0)",
                request("POST /", "Transfer-Encoding: \($0)", then: "0\r\n\r\n" + smuggled), .transferCodingUnknown)
        }
        + ["\u{B}chunked", "chunked\u{B}", "\u{C}chunked", "chunked\0", "\u{1}chunked", "chunked\u{8}"].map {
            .init(
                "a coding with a control character: \(Array($0.utf8))",
                request("POST /", "Transfer-Encoding: \($0)", then: "0\r\n\r\n" + smuggled), .fieldValue)
        } + [
            .init(
                "chunked and then a length",
                request("POST /", "Transfer-Encoding: chunked", "Content-Length: 5", then: "0\r\n\r\n" + smuggled),
                .transferEncodingAndLength),
            .init(
                "a length and then chunked",
                request("POST /", "Content-Length: 5", "Transfer-Encoding: chunked", then: "0\r\n\r\n" + smuggled),
                .transferEncodingAndLength),
            .init(
                "chunked and a length of 0",
                request("POST /", "Content-Length: 0", "Transfer-Encoding: chunked", then: "0\r\n\r\n"),
                .transferEncodingAndLength),
            .init(
                "a length and an empty coding",
                request("POST /", "Content-Length: 5", "Transfer-Encoding:", then: "hello" + smuggled),
                .transferEncoding),
            .init(
                "chunked and an empty coding",
                request("POST /", "Transfer-Encoding: chunked", "Transfer-Encoding:", then: "0\r\n\r\n" + smuggled),
                .transferEncoding),
            .init(
                "a coding for GET and a length",
                request("GET /", "Transfer-Encoding: chunked", "Content-Length: 44", then: "0\r\n\r\n" + smuggled),
                .transferEncodingAndLength),
            .init(
                "a length and an obfuscated coding",
                request(
                    "POST /", "Content-Length: 5",
                    "Transfer-Encoding: xchunked", then: "hello"), .transferEncoding),
            .init(
                "two codings",
                request("POST /", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked", then: "0\r\n\r\n"),
                .transferEncoding),
            .init(
                "chunked, then identity",
                request("POST /", "Transfer-Encoding: chunked", "Transfer-Encoding: identity", then: "0\r\n\r\n"),
                .transferEncoding),
            .init(
                "identity, then chunked",
                request("POST /", "Transfer-Encoding: identity", "Transfer-Encoding: chunked", then: "0\r\n\r\n"),
                .transferEncoding),
            .init(
                "chunked in HTTP/1.0",
                "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .transferEncodingInHTTP10),
            .init(
                "chunked and kept alive in HTTP/1.0",
                "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
                .transferEncodingInHTTP10),
            .init(
                "chunked and a length in HTTP/1.0",
                "POST / HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                .transferEncodingAndLength),
        ]

    static let chunks: [RefusedRequest] =
        chunked(
            .chunkSize,
            [
                "\r\n": "an empty size", "x\r\n": "a size of letters", "0x5\r\nhello\r\n": "a size with 0x",
                "-5\r\nhello\r\n": "a negative size", "+5\r\nhello\r\n": "a size with a plus sign",
                " 5\r\nhello\r\n": "a space before the size", "\t5\r\nhello\r\n": "a tab before the size",
                "5 \r\nhello\r\n": "a space after the size", "5\t\r\nhello\r\n": "a tab after the size",
                "5 5\r\nhello\r\n": "two sizes", "5,5\r\nhello\r\n": "a list of sizes",
                "5.0\r\nhello\r\n": "a decimal point",
                "\"5\"\r\nhello\r\n": "a quoted size", "5_0\r\n": "an underscore", ";a=b\r\n": "an extension alone",
                "00000000000000005\r\nhello\r\n": "seventeen digits", "8000000000000000\r\n": "a size beyond Int64",
                "ffffffffffffffff\r\n": "sixteen digits of one", "10000000000000005\r\nhello\r\n": "a size that wraps",
                "5\0\r\nhello\r\n": "a NUL after the size", "5\u{B}\r\nhello\r\n": "a vertical tab after the size",
                "5\u{A0}\r\nhello\r\n": "a byte beyond ASCII after the size",
                "5hello\r\n": "no line end after the size",
                "5\r\nhello\r\n\r\n": "an empty line between chunks",
            ])
        + chunked(
            .chunkEnd,
            [
                "5\r\nhello0\r\n\r\n": "no line end after the data",
                "5\r\nhelloX\r\n0\r\n\r\n": "data longer than its size",
                "4\r\nhello\r\n0\r\n\r\n": "a size too small", "5\r\nhello \r\n0\r\n\r\n": "a space after the data",
            ])
        + chunked(
            .bareLineFeed,
            [
                "5\nhello\r\n0\r\n\r\n": "LF after the size", "5\r\nhello\n0\r\n\r\n": "LF after the data",
                "5\r\nhello\r\n0\n\r\n": "LF after the last size", "5\r\nhello\r\n0\r\n\n": "LF at the end",
                "5;a\nhello\r\n0\r\n\r\n": "LF after an extension", "0\r\nX: a\n\r\n": "LF after a trailer",
                "5;a=\"\n\"\r\nhello\r\n0\r\n\r\n": "LF in a quoted extension",
            ])
        + chunked(
            .bareCarriageReturn,
            [
                "5\rhello\r\n0\r\n\r\n": "CR after the size", "5\r\nhello\r0\r\n\r\n": "CR after the data",
                "5;a\rb\r\nhello\r\n": "CR in an extension", "0\r\n\rX": "CR in place of the end",
                "5\r\r\nhello\r\n0\r\n\r\n": "two CR after the size", "0\r\nX: a\rb\r\n\r\n": "CR in a trailer",
            ])
        + chunked(
            .chunkExtension,
            [
                "5;\r\nhello\r\n": "an empty extension", "5;=b\r\nhello\r\n": "an extension without a name",
                "5;a=\r\nhello\r\n": "an extension without a value", "5;a b\r\nhello\r\n": "two names in an extension",
                "5;a=\"b\r\nhello\r\n": "an open quotation", "5;a=\"b\"c\r\nhello\r\n": "more after a quotation",
                "5;a=b;\r\nhello\r\n": "a semicolon at the end", "5;a=b \r\nhello\r\n": "a space at the end",
                "5;a\0\r\nhello\r\n": "a NUL in an extension", "5;a=\"\0\"\r\nhello\r\n": "a NUL in a quotation",
                "5;a=b,c\r\nhello\r\n": "a list in an extension", "5;\u{E9}=a\r\nhello\r\n": "a name beyond ASCII",
                "5;a=\"b\\\r\nhello\r\n": "a backslash at the end",
                "5;;a\r\nhello\r\n": "two semicolons", "5;a==b\r\nhello\r\n": "two equals signs",
                "5;a='b c'\r\nhello\r\n": "another kind of quotation",
                "0;\r\n\r\n": "an empty extension of the last chunk",
                "5;" + String(repeating: "a", count: 1100) + "\r\nhello\r\n": "a very long extension",
            ]) + [
            .init(
                "extensions without end",
                request(
                    "POST /", "Transfer-Encoding: chunked",
                    then: String(repeating: "1;\(String(repeating: "a", count: 1000))\r\na\r\n", count: 20)),
                .chunkExtension)
        ]

    static let trailers: [RefusedRequest] =
        chunked(
            .trailerField,
            [
                "0\r\nContent-Length: 5\r\n\r\n": "a trailing length",
                "0\r\nTransfer-Encoding: chunked\r\n\r\n": "a trailing coding",
                "0\r\nHost: b\r\n\r\n": "a trailing Host",
                "0\r\nhOsT: b\r\n\r\n": "a trailing Host in mixed case",
                "0\r\nAuthorization: Basic eDp5\r\n\r\n": "trailing credentials",
                "0\r\nCookie: a=b\r\n\r\n": "a trailing cookie",
                "0\r\nConnection: close\r\n\r\n": "a trailing Connection",
                "0\r\nExpect: 100-continue\r\n\r\n": "a trailing Expect",
                "0\r\nContent-Type: text/plain\r\n\r\n": "a trailing type",
                "0\r\nTrailer: X\r\n\r\n": "a trailing Trailer",
                "0\r\n" + String(repeating: "X: y\r\n", count: 101) + "\r\n": "too many trailers",
                "0\r\nX: " + String(repeating: "y", count: 17000) + "\r\n\r\n": "a trailer too long",
            ])
        + chunked(
            .fieldName,
            ["0\r\nX\r\n\r\n": "a trailer without a colon", "0\r\n: a\r\n\r\n": "an empty trailer name"]
        )
        + chunked(
            .whitespaceBeforeColon,
            [
                "0\r\nX : a\r\n\r\n": "a space before a trailer's colon",
                "0\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n": "a request in place of the end",
            ])
        + chunked(
            .lineFolding,
            ["0\r\nX: a\r\n b\r\n\r\n": "a folded trailer", "0\r\n X: a\r\n\r\n": "a space before a trailer"])
        + chunked(.fieldValue, ["0\r\nX: a\0b\r\n\r\n": "a NUL in a trailer"])

    static let contentCodings: [RefusedRequest] =
        ["gzip", "GZIP", "deflate", "br", "identity, gzip", "gzip, identity", "x", "identity;q=1"].map {
            .init(
                "content coding \($0)",
                request("POST /", "Content-Encoding: \($0)", "Content-Length: 5", then: "hello"),
                .contentCoding)
        } + [
            .init(
                "a content coding in chunks",
                request("POST /", "content-encoding: gzip", "Transfer-Encoding: chunked", then: "2\r\nok\r\n0\r\n\r\n"),
                .contentCoding),
            .init(
                "two fields of content codings",
                request(
                    "POST /", "Content-Encoding: identity", "Content-Encoding: gzip", "Content-Length: 5",
                    then: "hello"), .contentCoding),
            .init(
                "a content coding, before the content comes",
                request("POST /", "Content-Encoding: gzip", "Content-Length: 5"), .contentCoding),
        ]

    static let expectations: [RefusedRequest] =
        [
            "", "200-ok", "100-continues", "100-continue, 100-continue", "100-continue;q=1", "continue", "x",
        ].map {
            .init("Expect: \($0)", request("POST /", "Expect: \($0)", "Content-Length: 5", then: "hello"), .expectation)
        } + [
            .init(
                "two expectations",
                request(
                    "POST /", "Expect: 100-continue", "expect: 100-continue", "Content-Length: 5", then: "hello"),
                .expectation)
        ]

    /// Beyond the default limits of sizes.
    static let limits: [RefusedRequest] = [
        .init("a long target", request("GET /" + String(repeating: "a", count: 32_768)), .requestLineTooLong),
        .init("a long target without an end", "GET /" + String(repeating: "a", count: 33_000), .requestLineTooLong),
        .init("a long method", String(repeating: "A", count: 33_000), .requestLineTooLong),
        .init("a long value", request("GET /", "X: " + String(repeating: "a", count: 16384)), .fieldsTooLarge),
        .init(
            "a long value without an end", "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 17000),
            .fieldsTooLarge),
        .init("a long name", "GET / HTTP/1.1\r\n" + String(repeating: "a", count: 17000), .fieldsTooLarge),
        .init(
            "many large fields",
            "GET / HTTP/1.1\r\n" + String(repeating: "X: \(String(repeating: "a", count: 2000))\r\n", count: 9),
            .fieldsTooLarge),
        .init("many fields", "GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 101), .tooManyFields),
        .init("a large length", request("POST /", "Content-Length: 65537"), .bodyTooLarge),
        .init("the largest length", request("POST /", "Content-Length: 9223372036854775807"), .bodyTooLarge),
        .init(
            "a large length that waits to be asked for",
            request("POST /", "Content-Length: 65537", "Expect: 100-continue"), .bodyTooLarge),
        .init("a large chunk", request("POST /", "Transfer-Encoding: chunked", then: "10001\r\n"), .bodyTooLarge),
        .init(
            "the largest chunk", request("POST /", "Transfer-Encoding: chunked", then: "7fffffffffffffff\r\n"),
            .bodyTooLarge),
        .init(
            "many chunks",
            request(
                "POST /", "Transfer-Encoding: chunked",
                then: String(repeating: "4000\r\n\(String(repeating: "a", count: 0x4000))\r\n", count: 4) + "1\r\na\r\n"
            ),
            .bodyTooLarge),
    ]

    static let ends: [RefusedRequest] = [
        .init("an end in the request line", "GET / HT", .incomplete, ends: true),
        .init("an end after the request line", "GET / HTTP/1.1\r\n", .incomplete, ends: true),
        .init("an end in a field", "GET / HTTP/1.1\r\nHost: exa", .incomplete, ends: true),
        .init("an end before the last LF", "GET / HTTP/1.1\r\nHost: a\r\n\r", .incomplete, ends: true),
        .init("an end before the content", request("POST /", "Content-Length: 5"), .incomplete, ends: true),
        .init("an end in the content", request("POST /", "Content-Length: 5", then: "hell"), .incomplete, ends: true),
        .init(
            "an end before the first chunk", request("POST /", "Transfer-Encoding: chunked"), .incomplete, ends: true),
        .init(
            "an end in a chunk size", request("POST /", "Transfer-Encoding: chunked", then: "5"), .incomplete,
            ends: true),
        .init(
            "an end in a chunk", request("POST /", "Transfer-Encoding: chunked", then: "5\r\nhel"), .incomplete,
            ends: true),
        .init(
            "an end before the last chunk", request("POST /", "Transfer-Encoding: chunked", then: "5\r\nhello\r\n"),
            .incomplete, ends: true),
        .init(
            "an end after the last chunk", request("POST /", "Transfer-Encoding: chunked", then: "0\r\n"), .incomplete,
            ends: true),
        .init(
            "an end in a trailer", request("POST /", "Transfer-Encoding: chunked", then: "0\r\nX: y\r\n"), .incomplete,
            ends: true),
        .init(
            "an end where content was asked for",
            request("POST /", "Content-Length: 5", "Expect: 100-continue"), .incomplete, ends: true),
    ]

    /// A valid request gets a response, the bytes after it are refused, and nothing later is read as a request.
    static let pipelines: [RefusedRequest] = [
        .init(
            "garbage after a request", request("GET /a", then: "\0\u{1}\u{2}\r\n\r\n" + smuggled), .method,
            handledBefore: 1),
        .init("an empty line too many", request("GET /a", then: "\r\n\r\n" + smuggled), .emptyLine, handledBefore: 1),
        .init(
            "content longer than its length",
            request("POST /a", "Content-Length: 5", then: "hello!" + "\r\n\r\n" + smuggled),
            .method, handledBefore: 1),
        .init(
            "content without a length", request("POST /a", then: "a=b&c=d\r\n\r\n" + smuggled), .method,
            handledBefore: 1),
        .init(
            "chunks without a coding", request("POST /a", then: "5\r\nhello\r\n0\r\n\r\n" + smuggled), .method,
            handledBefore: 1),
        .init(
            "a chunk after the last",
            request("POST /a", "Transfer-Encoding: chunked", then: "0\r\n\r\n5\r\nhello\r\n" + smuggled),
            .method, handledBefore: 1),
        .init(
            "both framings after two requests",
            request("GET /a") + request("POST /b", "Content-Length: 2", then: "ok")
                + request("POST /c", "Content-Length: 44", "Transfer-Encoding: chunked", then: "0\r\n\r\n" + smuggled),
            .transferEncodingAndLength, handledBefore: 2),
        .init(
            "no Host in the second", request("GET /a") + "GET /b HTTP/1.1\r\n\r\n" + smuggled, .hostMissing,
            handledBefore: 1),
        .init("an end in the second", request("GET /a") + "GET /b HT", .incomplete, handledBefore: 1, ends: true),
    ]

    private static func chunked(_ error: RequestError, _ rows: KeyValuePairs<String, String>) -> [RefusedRequest] {
        rows.map { body, name in
            .init(name, request("POST /", "Transfer-Encoding: chunked", then: body + smuggled), error)
        }
    }
}
