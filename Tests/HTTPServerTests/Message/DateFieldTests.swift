import Primitives
import Testing

@testable import HTTPServer

@Suite("Date field")
struct DateFieldTests {
    @Test(
        "Dates are IMF-fixdates (RFC 9110 section 5.6.7)",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
            (2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT"), (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
            (1_000_000_000, "Sun, 09 Sep 2001 01:46:40 GMT"), (1_234_567_890, "Fri, 13 Feb 2009 23:31:30 GMT"),
        ])
    func format(_ moment: Int, _ expected: String) {
        #expect(UTCTime.httpText(moment) == expected)
    }

    @Test("The lines change with the second, forwards and backwards, and forbid to guess a type")
    func lines() {
        var field = DateField()
        let nosniff = "X-Content-Type-Options: nosniff\r\n"
        #expect(field.lines(at: 784_111_777) == Array("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\(nosniff)".utf8))
        #expect(field.lines(at: 784_111_777) == Array("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\(nosniff)".utf8))
        #expect(field.lines(at: 784_111_778) == Array("Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n\(nosniff)".utf8))
        #expect(field.lines(at: 784_111_776) == Array("Date: Sun, 06 Nov 1994 08:49:36 GMT\r\n\(nosniff)".utf8))
    }
}
