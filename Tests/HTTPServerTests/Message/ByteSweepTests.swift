import HTTPServer
import Testing

/// A position in a request that is filled with every byte in turn.
struct SweptPlace: Sendable, CustomTestStringConvertible {
    let name: String
    let before: String
    let after: String
    /// The bytes that make a valid request by RFC 9110, RFC 9112 and, in a query, the URL Standard, listed
    /// independently of the parser.
    let good: Set<UInt8>
    /// The bytes after which the request is incomplete.
    var waits: Set<UInt8> = []
    /// The bytes that end the request early, so that the rest is refused.
    var ends: Set<UInt8> = []

    var testDescription: String { name }

    private static let letters = Set((0x41...0x5A).map(UInt8.init) + (0x61...0x7A).map(UInt8.init))
    private static let digits = Set((0x30...0x39).map(UInt8.init))
    private static let hexadecimal = digits.union(bytes("abcdefABCDEF"))
    /// RFC 9110 section 5.6.2.
    private static let token = letters.union(digits).union(bytes("!#$%&'*+-.^_`|~"))
    private static let whitespace = bytes(" \t")
    /// RFC 9110 section 5.5, with obs-text.
    private static let fieldContent = Set((0x20...0xFF).map(UInt8.init)).subtracting([0x7F]).union(whitespace)

    private static func bytes(_ text: String) -> Set<UInt8> { Set(text.utf8) }

    private static func chunked(_ body: String) -> String {
        request("POST /", "Transfer-Encoding: chunked", then: body)
    }

    static let all: [SweptPlace] = [
        .init(name: "before the request", before: "", after: request("GET /"), good: token),
        .init(name: "in the method", before: "G", after: request("ET /"), good: token),
        .init(
            name: "between method and target", before: "GET", after: "/ HTTP/1.1\r\nHost: a\r\n\r\n", good: bytes(" ")),
        .init(
            name: "in the path", before: "GET /a", after: "gh HTTP/1.1\r\nHost: a\r\n\r\n",
            good: letters.union(digits).union(bytes("-._~!$&'()*+,;=:@/?"))),
        .init(
            name: "in the query", before: "GET /?a", after: "gh HTTP/1.1\r\nHost: a\r\n\r\n",
            good: Set(0x21...0xFF).subtracting(bytes("#\u{7F}"))),
        .init(
            name: "between target and version", before: "GET /",
            after: "HTTP/1.1\r\nHost: a\r\n\r\n", good: bytes(" ")),
        .init(
            name: "as the major version", before: "GET / HTTP/", after: ".1\r\nHost: a\r\n\r\n", good: bytes("1")),
        .init(name: "as the minor version", before: "GET / HTTP/1.", after: "\r\nHost: a\r\n\r\n", good: digits),
        .init(name: "after the version", before: "GET / HTTP/1.1", after: "\r\nHost: a\r\n\r\n", good: []),
        .init(
            name: "in a name", before: "GET / HTTP/1.1\r\nHost: a\r\nX", after: "Y: a\r\n\r\n",
            good: token.union(bytes(":"))),
        .init(
            name: "before a colon", before: "GET / HTTP/1.1\r\nHost: a\r\nX", after: ": a\r\n\r\n",
            good: token.union(bytes(":"))),
        .init(
            name: "before a name", before: "GET / HTTP/1.1\r\nHost: a\r\n", after: "X: a\r\n\r\n", good: token),
        .init(
            name: "in a value", before: "GET / HTTP/1.1\r\nHost: a\r\nX: a", after: "b\r\n\r\n", good: fieldContent),
        .init(
            name: "at the end of a value", before: "GET / HTTP/1.1\r\nHost: a\r\nX: a", after: "\r\n\r\n",
            good: fieldContent),
        .init(name: "before the last CR LF", before: "GET / HTTP/1.1\r\nHost: a\r\n", after: "\r\n", good: []),
        .init(
            name: "between the last CR and LF", before: "GET / HTTP/1.1\r\nHost: a\r\n\r", after: "\n", good: [],
            ends: bytes("\n")),
        .init(
            name: "in Host", before: "GET / HTTP/1.1\r\nHost: a", after: "b\r\n\r\n",
            good: letters.union(digits).union(bytes("-._"))),
        .init(
            name: "before a port", before: "GET / HTTP/1.1\r\nHost: a", after: "80\r\n\r\n",
            good: letters.union(digits).union(bytes("-._:"))),
        .init(
            name: "in a port", before: "GET / HTTP/1.1\r\nHost: a:8", after: "0\r\n\r\n", good: digits),
        .init(
            name: "before a length", before: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:", after: "5\r\n\r\nhello",
            good: whitespace.union(bytes("0")), waits: digits.subtracting(bytes("0"))),
        .init(
            name: "after a length", before: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5", after: "\r\n\r\nhello",
            good: whitespace, waits: digits),
        .init(
            name: "before chunked", before: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:",
            after: "chunked\r\n\r\n0\r\n\r\n", good: whitespace),
        .init(
            name: "in chunked", before: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chun",
            after: "ed\r\n\r\n0\r\n\r\n", good: bytes("kK")),
        .init(
            name: "after chunked", before: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked",
            after: "\r\n\r\n0\r\n\r\n", good: whitespace),
        .init(
            name: "in an expectation", before: "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100", after: "continue\r\n\r\n",
            good: bytes("-")),
        .init(
            name: "before a chunk's size", before: chunked(""), after: "5\r\nhello\r\n0\r\n\r\n", good: bytes("0"),
            waits: hexadecimal.subtracting(bytes("0"))),
        .init(
            name: "after a chunk's size", before: chunked("5"), after: "\r\nhello\r\n0\r\n\r\n", good: [],
            waits: hexadecimal),
        .init(name: "within a size line's end", before: chunked("5\r"), after: "\nhello\r\n0\r\n\r\n", good: []),
        .init(
            name: "in the name of an extension", before: chunked("5;a"), after: "b\r\nhello\r\n0\r\n\r\n",
            good: token.union(bytes("=;"))),
        .init(
            name: "before an extension", before: chunked("5"), after: ";a\r\nhello\r\n0\r\n\r\n", good: whitespace,
            waits: hexadecimal),
        .init(
            name: "in the value of an extension", before: chunked("5;a=b"), after: "c\r\nhello\r\n0\r\n\r\n",
            good: token.union(bytes(";"))),
        .init(
            name: "in a quoted value of an extension", before: chunked("5;a=\"b"), after: "c\"\r\nhello\r\n0\r\n\r\n",
            good: fieldContent.subtracting(bytes("\""))),
        .init(name: "after a chunk's data", before: chunked("5\r\nhello"), after: "\r\n0\r\n\r\n", good: []),
        .init(name: "within a chunk's end", before: chunked("5\r\nhello\r"), after: "\n0\r\n\r\n", good: []),
        .init(
            name: "in a trailer's name", before: chunked("0\r\nX"), after: "Y: a\r\n\r\n",
            good: token.union(bytes(":"))),
        .init(name: "in a trailer's value", before: chunked("0\r\nX: a"), after: "b\r\n\r\n", good: fieldContent),
        .init(
            name: "within the end of the chunks", before: chunked("0\r\n\r"), after: "\n", good: [], ends: bytes("\n")),
    ]
}

@Suite("Every byte at every position", .serialized)
struct ByteSweepTests {
    @Test("A byte is accepted where the grammar allows it, and nowhere else", arguments: SweptPlace.all)
    func sweep(_ place: SweptPlace) {
        for byte in UInt8.min...UInt8.max {
            let bytes = wire(place.before) + [byte] + wire(place.after)
            for cuts in [[], Array(1..<bytes.count)] {
                let outcome = MachineDriver.outcome(of: bytes, cutAt: cuts)
                let isGood = place.good.contains(byte)
                #expect(outcome.handled.count == (isGood || place.ends.contains(byte) ? 1 : 0), "byte \(byte)")
                #expect((outcome.refusal == nil) == (isGood || place.waits.contains(byte)), "byte \(byte)")
            }
        }
    }
}
