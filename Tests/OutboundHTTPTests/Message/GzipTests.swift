import CLatchkeyZlib
import OutboundHTTP
import Testing

struct GzipTests {
    @Test("A gzip body is decoded, whatever the pieces", arguments: [1, 7, 100, 4096, 1 << 20])
    func pieces(size: Int) throws {
        let body = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
        var parser = ResponseParser(bodyBytes: body.count)
        try feed(response(gzip(body)), to: &parser, in: size)
        #expect(parser.isComplete)
        #expect(parser.allowsReuse)
        #expect(parser.body == body)
    }

    @Test("A body of exactly the limit is accepted, one more byte is not")
    func limit() throws {
        let body = [UInt8](repeating: 120, count: 50_000)
        var parser = ResponseParser(bodyBytes: 50_000)
        try feed(response(gzip(body)), to: &parser, in: 4096)
        #expect(parser.body.count == 50_000)
        #expect(throws: ResponseError.bodyTooLarge) {
            var parser = ResponseParser(bodyBytes: 49_999)
            try feed(response(gzip(body)), to: &parser, in: 4096)
        }
    }

    @Test("A body that decodes to nothing is limited by its own size")
    func empty() {
        // Stored blocks without content, endlessly.
        let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
        let block: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
        let coded = head + Array(repeating: block, count: 100).flatMap(\.self)
        #expect(throws: ResponseError.bodyTooLarge) {
            var parser = ResponseParser(bodyBytes: 400)
            try feed(Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8) + coded, to: &parser, in: 50)
        }
    }

    @Test("Data that end early, are damaged, or that something follows, are refused")
    func damaged() {
        let whole = gzip(Array("some text that is long enough".utf8))
        var checksum = whole
        checksum[whole.count - 8] ^= 1
        for coded in [Array(whole.dropLast()), Array(whole.prefix(12)), checksum, whole + [0], whole + whole] {
            for size in [1, 1000] {
                #expect(throws: ResponseError.gzip) {
                    var parser = ResponseParser(bodyBytes: 1000)
                    try feed(response(coded), to: &parser, in: size)
                }
                #expect(throws: ResponseError.gzip) {
                    var parser = ResponseParser(bodyBytes: 1000)
                    let head = Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n".utf8)
                    try feed(head + coded, to: &parser, in: size)
                    try parser.inputEnded()
                }
            }
        }
    }

    private func gzip(_ bytes: [UInt8]) -> [UInt8] {
        let room = bytes.count + 1000
        return [UInt8](unsafeUninitializedCapacity: room) { output, count in
            count = czlib_gzip(bytes, bytes.count, output.baseAddress, room, 6)
        }
    }

    private func response(_ coded: [UInt8]) -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n".utf8) + coded
    }

    private func feed(_ bytes: [UInt8], to parser: inout ResponseParser, in size: Int) throws {
        for start in stride(from: 0, to: bytes.count, by: size) {
            _ = try parser.receive(Array(bytes[start..<min(bytes.count, start + size)]).span)
        }
    }
}
