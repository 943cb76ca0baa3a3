import HTTPCore
import Testing

/// Chunks, and what a decoder makes of them.
struct ChunkedRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let text: String
    let outcome: ChunkedOutcome
    var rules = ChunkedRow.strict

    /// Small limits.
    static let strict: ChunkedDecoder.Rules = {
        var rules = ChunkedDecoder.Rules(overheadBytes: 40, contentBytes: 20)
        rules.sizeLineBytes = 30
        rules.trailerFields = 3
        return rules
    }()

    /// As ``strict``, and accepts what clients accept.
    static let lenient: ChunkedDecoder.Rules = {
        var rules = strict
        rules.isStrict = false
        return rules
    }()
}

struct ChunkedOutcome: Sendable, Hashable {
    var content = ""
    var trailers: [String] = []
    var fault: ChunkedCodingError?
    var isComplete = false
    /// How many of the bytes belong to the message; nil after a fault.
    var used: Int?
}

@Suite("The chunked transfer coding")
struct ChunkedDecoderTests {
    private static func good(
        _ name: String, _ text: String, _ content: String, _ trailers: [String] = [],
        rules: ChunkedDecoder.Rules = ChunkedRow.strict
    ) -> ChunkedRow {
        let outcome = ChunkedOutcome(
            content: content, trailers: trailers, isComplete: true, used: text.utf8.count)
        return ChunkedRow(testDescription: name, text: text, outcome: outcome, rules: rules)
    }

    private static func bad(
        _ name: String, _ text: String, _ fault: ChunkedCodingError, content: String = "", trailers: [String] = [],
        rules: ChunkedDecoder.Rules = ChunkedRow.strict
    ) -> ChunkedRow {
        let outcome = ChunkedOutcome(content: content, trailers: trailers, fault: fault)
        return ChunkedRow(testDescription: name, text: text, outcome: outcome, rules: rules)
    }

    private static func x(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let accepted = [
        good("no content", "0\r\n\r\n", ""),
        good("a chunk", "5\r\nhello\r\n0\r\n\r\n", "hello"),
        good("chunks", "2\r\nhe\r\n1\r\nl\r\n2\r\nlo\r\n0\r\n\r\n", "hello"),
        good("digits of both cases", "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"),
        good("line ends as content", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"),
        good("trailers", "0\r\nX: y\r\nZ:\r\n\r\n", "", ["X: y", "Z:"]),
        good("extensions", "5 ; a = b\t;\tc;d=\"\\\"\"\r\nhello\r\n0;e\r\n\r\n", "hello"),
        // At the limits.
        good("a size of 16 digits", "0000000000000002\r\nok\r\n0000000000000000\r\n\r\n", "ok"),
        good("the longest size line", "1;\(x(27))\r\na\r\n0\r\n\r\n", "a"),
        good("the most content", "14\r\n\(x(20))\r\n0\r\n\r\n", x(20)),
        good("the most content in two chunks", "13\r\n\(x(19))\r\n1\r\nx\r\n0\r\n\r\n", x(20)),
        good("the most trailers", "0\r\nA:\r\nB:\r\nC:\r\n\r\n", "", ["A:", "B:", "C:"]),
        good("the longest trailer", "0\r\nA:\(x(34))\r\n\r\n", "", ["A:" + x(34)]),
        good("the most overhead", "0;\(x(23))\r\nA:\(x(10))\r\n\r\n", "", ["A:" + x(10)]),
        // What clients accept.
        good("white space after a size", "2 \r\nok\r\n0\t \r\n\r\n", "ok", rules: ChunkedRow.lenient),
        good("text as an extension", "2;=\"\r\nok\r\n0;\r\n\r\n", "ok", rules: ChunkedRow.lenient),
        good("line feeds after the last chunk", "0\r\nA: b\nB:\r\n\n", "", ["A: b", "B:"], rules: ChunkedRow.lenient),
    ]

    static let refused = [
        bad("no size", "\r\n", .size),
        bad("a size of letters", "x\r\n", .size),
        bad("0x before a size", "0x2\r\n", .size),
        bad("a negative size", "-1\r\n", .size),
        bad("white space before a size", " 1\r\n", .size, rules: ChunkedRow.lenient),
        bad("white space after a size", "1 \r\n", .size),
        bad("two sizes", "1 1\r\n", .size, rules: ChunkedRow.lenient),
        bad("17 digits", "00000000000000001\r\n", .size),
        bad("a size that overflows", "8000000000000000\r\n", .size),
        bad("a size line too long", "1;\(x(29))", .extensions),
        bad("a size line too long for clients", "1;\(x(29))", .extensions, rules: ChunkedRow.lenient),
        bad("an extension without a name", "1;=b\r\n", .extensions),
        bad("a semicolon at the end", "1;a;\r\n", .extensions),
        bad("an open quotation", "1;a=\"b\r\n", .extensions),
        bad("NUL in an extension", "1;a\0\r\n", .extensions, rules: ChunkedRow.lenient),
        bad("extensions too long together", "1;\(x(20))\r\na\r\n1;\(x(20))\r\n", .tooMuchOverhead(.size), content: "a"),
        bad("too much content at once", "15\r\n", .contentTooLarge),
        bad("the largest size", "7fffffffffffffff\r\n", .contentTooLarge),
        bad("too much content", "14\r\n\(x(20))\r\n1\r\n", .contentTooLarge, content: x(20)),
        bad("content longer than its size", "1\r\nab\r\n", .contentEnd, content: "a"),
        bad("content shorter than its size", "3\r\nab\r\n0\r\n", .bareLineFeed(.contentEnd), content: "ab\r"),
        bad("a line feed after a size", "1\na", .bareLineFeed(.size), rules: ChunkedRow.lenient),
        bad(
            "a line feed after content", "1\r\na\n", .bareLineFeed(.contentEnd), content: "a", rules: ChunkedRow.lenient
        ),
        bad("a line feed after a trailer", "0\r\nA:\n", .bareLineFeed(.trailers)),
        bad("a line feed as the end", "0\r\n\n", .bareLineFeed(.trailers)),
        bad("a carriage return after a size", "1\ra", .bareCarriageReturn(.size)),
        bad("a carriage return after content", "1\r\na\rb", .bareCarriageReturn(.contentEnd), content: "a"),
        bad("a carriage return in a trailer", "0\r\nA: b\rc", .bareCarriageReturn(.trailers)),
        bad(
            "a carriage return in a client's trailer", "0\r\nA: b\rc", .bareCarriageReturn(.trailers),
            rules: ChunkedRow.lenient),
        bad("too many trailers", "0\r\nA:\r\nB:\r\nC:\r\nD:\r\n", .tooManyTrailers, trailers: ["A:", "B:", "C:"]),
        bad("a trailer too long", "0\r\nA:\(x(39))", .tooMuchOverhead(.trailers)),
        bad(
            "trailers too long together", "0\r\nA:\(x(20))\r\nB:\(x(20))\r\n", .tooMuchOverhead(.trailers),
            trailers: ["A:" + x(20)]),
        bad("an extension and a trailer too long together", "0;\(x(25))\r\nA:\(x(15))", .tooMuchOverhead(.trailers)),
    ]

    static let beginnings = [
        "", "1", "1\r", "1\r\n", "1\r\na", "1\r\na\r", "1\r\na\r\n", "0\r\n", "0\r\nA:\r\n", "0\r\n\r",
    ]

    @Test("Chunks are decoded the same in one piece and in pieces of any size", arguments: accepted + refused)
    func rows(_ row: ChunkedRow) {
        for size in 1...max(1, row.text.utf8.count) {
            #expect(outcome(of: row.text, in: size, row.rules) == row.outcome, "in pieces of \(size)")
        }
    }

    @Test("A message whose end is missing is not complete", arguments: beginnings)
    func unfinished(text: String) {
        for size in 1...max(1, text.utf8.count) {
            let outcome = self.outcome(of: text, in: size, ChunkedRow.strict)
            #expect(outcome.fault == nil && !outcome.isComplete)
        }
    }

    @Test("What follows the message is not used")
    func following() throws {
        var decoder = ChunkedDecoder(ChunkedRow.strict)
        var index = 0
        let bytes = Array("0\r\n\r\n0\r\n\r\n".utf8)
        #expect(try decoder.next(bytes.span, from: &index) == .complete)
        #expect(index == 5)
        #expect(try decoder.next(bytes.span, from: &index) == .complete)
        #expect(index == 5)
    }

    private func outcome(of text: String, in size: Int, _ rules: ChunkedDecoder.Rules) -> ChunkedOutcome {
        var decoder = ChunkedDecoder(rules)
        var (outcome, content, used) = (ChunkedOutcome(), [UInt8](), 0)
        let bytes = Array(text.utf8)
        do throws(ChunkedCodingError) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = Array(bytes[start..<min(bytes.count, start + size)])
                var index = 0
                reading: while true {
                    switch try decoder.next(piece.span, from: &index) {
                    case .content(let range): content += piece[range]
                    case .trailer: outcome.trailers.append(String(decoding: decoder.trailer, as: UTF8.self))
                    case .needsMore, .complete: break reading
                    }
                }
                used += index
            }
            outcome.used = used
        } catch {
            outcome.fault = error
        }
        outcome.content = String(decoding: content, as: UTF8.self)
        outcome.isComplete = decoder.isComplete
        return outcome
    }
}
