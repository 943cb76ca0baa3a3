import OutboundHTTP
import Testing

struct ResponseHeadTests {
    @Test("Fields are found whatever their case and white space")
    func fields() {
        var head = ResponseHead()
        let lines = [
            "HTTP/1.1 200 OK", "CONTENT-TYPE:application/json", "cache-control: \t max-age=60 ", "Retry-After: 7",
            "Date: Tue, 01 Jul 2025 00:00:00 GMT", "Content-Length: 12", "X-Date: no", "Dat: no", "no colon", ": empty",
        ]
        #expect(receive(lines, into: &head))
        #expect(head.contentType == "application/json")
        #expect(head.cacheControl == "max-age=60")
        #expect(head.retryAfter == "7")
        #expect(head.date == "Tue, 01 Jul 2025 00:00:00 GMT")
        #expect(head.contentLength == 12)
    }

    @Test("The first of several fields counts, but Cache-Control fields are joined")
    func repeated() {
        var head = ResponseHead()
        let lines = [
            "HTTP/1.1 200 OK", "Content-Type: a/b", "Content-Type: c/d", "Cache-Control: x", "Cache-Control: y",
        ]
        #expect(receive(lines, into: &head))
        #expect(head.contentType == "a/b")
        #expect(head.cacheControl == "x, y")
    }

    @Test("An interim answer's fields are forgotten, a trailer's never read")
    func interimAndTrailer() {
        var head = ResponseHead()
        #expect(receive(["HTTP/1.1 103 Early Hints", "Content-Type: a/b", ""], into: &head))
        #expect(receive(["HTTP/1.1 200 OK", "Retry-After: 1", ""], into: &head))
        #expect(receive(["Content-Type: c/d"], into: &head))
        #expect(head.contentType == nil)
        #expect(head.retryAfter == "1")
    }

    @Test("All heads of one response together are limited")
    func size() {
        var head = ResponseHead()
        let line = "X: " + String(repeating: "x", count: 1019)
        #expect(receive(Array(repeating: line, count: 16) + [""], into: &head))
        #expect(receive(["HTTP/1.1 200 OK"] + Array(repeating: line, count: 15), into: &head))
        #expect(!receive([line], into: &head))
    }

    private func receive(_ lines: [String], into head: inout ResponseHead) -> Bool {
        for line in lines {
            var bytes = Array((line + "\r\n").utf8)
            guard bytes.withUnsafeMutableBytes({ head.receive(UnsafeRawBufferPointer($0)) }) else { return false }
        }
        return true
    }
}
